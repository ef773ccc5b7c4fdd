"""Support vector machines with the face of scikit-learn, trained fast, each answer with a certificate."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from widemargin.collector import collector_held

if TYPE_CHECKING:
    from widemargin.certificate import Certificate
    from widemargin.estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM
    from widemargin.gaussian_process import GaussianProcessRegressor
    from widemargin.kernels.validity import KernelCheck, check_kernel
    from widemargin.least_squares import LSSVC, LSSVR, KernelLMS, KernelRidge
    from widemargin.linear import LinearSVC, LinearSVR
    from widemargin.margin_sizes import margins
    from widemargin.patching import patch_sklearn, unpatch_sklearn
    from widemargin.perceptron import KernelPerceptron
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
    "KernelCheck",
    "KernelLMS",
    "KernelPerceptron",
    "KernelRidge",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "Status",
    "__version__",
    "check_kernel",
    "margins",
    "patch_sklearn",
    "unpatch_sklearn",
    "verify",
]

# Where each public name stands. Names are imported when first used, so that `widemargin --help` does not wait for
# scikit-learn. None of them may also be the name of a module of this package: importing that would take its place.
_HOME = {
    "Certificate": "certificate",
    "GaussianProcessRegressor": "gaussian_process",
    "KernelCheck": "kernels.validity",
    "KernelLMS": "least_squares",
    "KernelPerceptron": "perceptron",
    "KernelRidge": "least_squares",
    "LSSVC": "least_squares",
    "LSSVR": "least_squares",
    "LinearSVC": "linear",
    "LinearSVR": "linear",
    "NuSVC": "estimators",
    "NuSVR": "estimators",
    "OneClassSVM": "estimators",
    "RVC": "relevance",
    "RVR": "relevance",
    "SVC": "estimators",
    "SVR": "estimators",
    "Status": "solvers.solution",
    "check_kernel": "kernels.validity",
    "margins": "margin_sizes",
    "patch_sklearn": "patching",
    "unpatch_sklearn": "patching",
    "verify": "verification",
}


def __getattr__(name: str) -> Any:
    """A public name, or a module of the package that nobody has imported yet."""
    if name in _HOME:
        with collector_held():
            value = getattr(importlib.import_module(f"widemargin.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    if not name.startswith("_"):
        try:
            return importlib.import_module(f"widemargin.{name}")
        except ModuleNotFoundError as missing:
            if missing.name != f"widemargin.{name}":
                raise
    raise AttributeError(f"module 'widemargin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
