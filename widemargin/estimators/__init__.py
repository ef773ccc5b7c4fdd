"""Estimators with scikit-learn's interface: validate, build, train, expose. Each is imported when first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from widemargin import _lazy
from widemargin.estimators.registry import ESTIMATORS

if TYPE_CHECKING:
    from widemargin.estimators.gaussian_process import GaussianProcessRegressor
    from widemargin.estimators.kernel_lms import KernelLMS
    from widemargin.estimators.kernel_ridge import KernelRidge
    from widemargin.estimators.linear_svc import LinearSVC
    from widemargin.estimators.linear_svr import LinearSVR
    from widemargin.estimators.lssvm import LSSVC, LSSVR
    from widemargin.estimators.nu_svc import NuSVC
    from widemargin.estimators.one_class import OneClassSVM
    from widemargin.estimators.perceptron import KernelPerceptron
    from widemargin.estimators.regressor import SVR, NuSVR
    from widemargin.estimators.relevance import RVC, RVR
    from widemargin.estimators.svc import SVC

__all__ = [
    "LSSVC", "LSSVR", "RVC", "RVR", "SVC", "SVR", "GaussianProcessRegressor", "KernelLMS", "KernelPerceptron",
    "KernelRidge", "LinearSVC", "LinearSVR", "NuSVC", "NuSVR", "OneClassSVM",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """An estimator by its name."""
    if name in ESTIMATORS:
        return getattr(_lazy.load(f"widemargin.estimators.{ESTIMATORS[name]}"), name)
    raise AttributeError(f"module 'widemargin.estimators' has no attribute {name!r}")
