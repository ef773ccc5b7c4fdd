"""Support vector machines with the interface of scikit-learn, trained fast, each answer with a certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from widemargin import _lazy, _moved
from widemargin.estimators.registry import ESTIMATORS

if TYPE_CHECKING:
    from widemargin.certificate import Certificate
    from widemargin.estimators.gaussian_process import GaussianProcessRegressor
    from widemargin.estimators.kernel_lms import KernelLMS
    from widemargin.estimators.kernel_ridge import KernelRidge
    from widemargin.estimators.linear_svc import LinearSVC, LinearSVR, l1_min_c
    from widemargin.estimators.lssvm import LSSVC, LSSVR
    from widemargin.estimators.perceptron import KernelPerceptron
    from widemargin.estimators.relevance import RVC, RVR
    from widemargin.estimators.single_problem import SVR, NuSVR, OneClassSVM
    from widemargin.estimators.svc import SVC, NuSVC
    from widemargin.inspection.margins import margins
    from widemargin.inspection.steps import steps
    from widemargin.inspection.verification import verify
    from widemargin.kernels.validity import KernelCheck, check_kernel
    from widemargin.model_selection.svccv import SVCCV, SVRCV
    from widemargin.monitor.status import Status
    from widemargin.playground.widget import toy
    from widemargin.sklearn_patch import patch_sklearn, unpatch_sklearn

__version__ = "0.1.0"

__all__ = [
    "LSSVC",
    "LSSVR",
    "RVC",
    "RVR",
    "SVC",
    "SVCCV",
    "SVR",
    "SVRCV",
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
    "l1_min_c",
    "margins",
    "patch_sklearn",
    "steps",
    "toy",
    "unpatch_sklearn",
    "verify",
]

# Where each public name is defined. Names are imported when first used, so that `widemargin --help` does not wait for
# scikit-learn. None may also be the name of a module of this package, whose import would replace it.
_HOME = {
    "Certificate": "certificate",
    "KernelCheck": "kernels.validity",
    "Status": "monitor.status",
    "check_kernel": "kernels.validity",
    "l1_min_c": "estimators.linear_svc",
    "margins": "inspection.margins",
    "patch_sklearn": "sklearn_patch",
    "steps": "inspection.steps",
    "toy": "playground.widget",
    "unpatch_sklearn": "sklearn_patch",
    "verify": "inspection.verification",
    **{name: entry.path for name, entry in ESTIMATORS.items()},
}

#: Modules with public names of their own, imported when first used.
_PUBLIC_MODULES = ("calibration", "io", "kernels", "model_selection", "plots", "report", "solvers", "training")

_moved.install()


def __getattr__(name: str) -> Any:
    """Return a public name, or a module of the package that is not imported yet."""
    if name in _HOME:
        value = getattr(_lazy.load(f"widemargin.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    if not name.startswith("_"):
        try:
            return _lazy.load(f"widemargin.{name}")
        except ModuleNotFoundError as missing:
            if missing.name != f"widemargin.{name}":
                raise
    raise AttributeError(f"module 'widemargin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_PUBLIC_MODULES})
