"""The estimators of the package: the one list that everything else reads."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """Where an estimator is defined, and what it is.

    module : in `widemargin.estimators`; imported when first used
    kind : "kernel" (support vector machines with a kernel), "linear" (those without), "system" (least squares),
        "online" (one sample after another), "relevance"
    in_files : whether model files hold it
    """

    module: str
    kind: str
    in_files: bool = True


ESTIMATORS = {
    "SVC": Entry("svc", "kernel"),
    "NuSVC": Entry("nu_svc", "kernel"),
    "SVR": Entry("regressor", "kernel"),
    "NuSVR": Entry("regressor", "kernel"),
    "OneClassSVM": Entry("one_class", "kernel"),
    "LinearSVC": Entry("linear_svc", "linear"),
    "LinearSVR": Entry("linear_svr", "linear"),
    "KernelRidge": Entry("kernel_ridge", "system"),
    "LSSVC": Entry("lssvm", "system"),
    "LSSVR": Entry("lssvm", "system"),
    "GaussianProcessRegressor": Entry("gaussian_process", "system", in_files=False),
    "KernelLMS": Entry("kernel_lms", "online"),
    "KernelPerceptron": Entry("perceptron", "online"),
    "RVC": Entry("relevance", "relevance"),
    "RVR": Entry("relevance", "relevance"),
}


def names_of(kind: str) -> tuple[str, ...]:
    """Estimators of a kind."""
    return tuple(name for name, entry in ESTIMATORS.items() if entry.kind == kind)
