"""Machines with squared errors: one linear system with the kernel matrix."""

from widemargin.least_squares.kernel_ridge import KernelRidge

__all__ = ["KernelRidge"]
