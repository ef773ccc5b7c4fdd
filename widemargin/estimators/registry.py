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

#: The kernel machines of LIBSVM, in the order of its numbers: class name -> the word of its model files.
LIBSVM_TYPES: dict[str, str] = {
    "SVC": "c_svc",
    "NuSVC": "nu_svc",
    "OneClassSVM": "one_class",
    "SVR": "epsilon_svr",
    "NuSVR": "nu_svr",
}
#: Weights of the features instead of support vectors.
LINEAR = ("LinearSVC", "LinearSVR")
#: Classes of `sklearn.svm` that have a counterpart of the same name here.
SKLEARN_COUNTERPARTS = (*LIBSVM_TYPES, *LINEAR)
#: Estimators without a form in model files.
NOT_SAVED = ("GaussianProcessRegressor",)
