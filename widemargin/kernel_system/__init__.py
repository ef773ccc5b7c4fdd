"""The linear system (K + D) a = y behind kernel ridge regression, Gaussian processes and least-squares machines."""

from widemargin.cholesky import NotPositiveDefinite
from widemargin.kernel_system.certificate import SystemCertificate
from widemargin.kernel_system.system import SOLVERS, KernelSystem, Rule, Solved

__all__ = ["SOLVERS", "KernelSystem", "NotPositiveDefinite", "Rule", "Solved", "SystemCertificate"]
