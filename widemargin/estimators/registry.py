"""The estimators of the package and the modules that define them: the one list that everything else reads."""

from __future__ import annotations

#: Class name -> module in `widemargin.estimators`; imported when first used.
ESTIMATORS: dict[str, str] = {
    "GaussianProcessRegressor": "gaussian_process",
    "KernelLMS": "kernel_lms",
    "KernelPerceptron": "perceptron",
    "KernelRidge": "kernel_ridge",
    "LSSVC": "lssvm",
    "LSSVR": "lssvm",
    "LinearSVC": "linear_svc",
    "LinearSVR": "linear_svr",
    "NuSVC": "nu_svc",
    "NuSVR": "regressor",
    "OneClassSVM": "one_class",
    "RVC": "relevance",
    "RVR": "relevance",
    "SVC": "svc",
    "SVR": "regressor",
}
