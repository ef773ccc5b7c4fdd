"""Iterative solvers for systems with a kernel matrix."""
