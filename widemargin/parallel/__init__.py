"""Threads: an atomic counter, loops over tiles."""
