"""Threads: atomic operations, a pool of workers, loops over tiles."""
