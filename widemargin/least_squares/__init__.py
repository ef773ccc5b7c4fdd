"""Machines with squared errors: one linear system with the kernel matrix."""

from widemargin.least_squares.kernel_lms import KernelLMS
from widemargin.least_squares.kernel_ridge import KernelRidge
from widemargin.least_squares.lssvm import LSSVC, LSSVR

__all__ = ["LSSVC", "LSSVR", "KernelLMS", "KernelRidge"]
