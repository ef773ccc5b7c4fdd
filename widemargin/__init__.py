"""Support vector machines with the face of scikit-learn, trained fast, each answer with a certificate."""

from widemargin.certificate import Certificate
from widemargin.estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from widemargin.gaussian_process import GaussianProcessRegressor
from widemargin.least_squares import LSSVC, LSSVR, KernelLMS, KernelRidge
from widemargin.margins import margins
from widemargin.relevance import RVC, RVR
from widemargin.solvers.solution import Status
from widemargin.verification import verify

__version__ = "0.1.0"

__all__ = [
    "LSSVC",
    "LSSVR",
    "RVC",
    "RVR",
    "SVC",
    "SVR",
    "Certificate",
    "GaussianProcessRegressor",
    "KernelLMS",
    "KernelRidge",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "Status",
    "__version__",
    "margins",
    "verify",
]
