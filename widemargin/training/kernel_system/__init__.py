"""The linear system (K + D) a = y behind kernel ridge regression, Gaussian processes and least-squares SVMs."""

from widemargin.certificate.system_certificate import SystemCertificate
from widemargin.linalg.cholesky import NotPositiveDefinite
from widemargin.training.kernel_system.system import SOLVERS, Found, KernelSystem, Solved, SystemRule

__all__ = ["SOLVERS", "Found", "KernelSystem", "NotPositiveDefinite", "SystemRule", "Solved", "SystemCertificate"]
