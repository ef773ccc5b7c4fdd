"""Registry of the estimators of the package."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """Where an estimator is defined, and which formats support it.

    module : in `widemargin.estimators`, or another `package`; imported when first used
    libsvm : its word in LIBSVM's model files, empty where LIBSVM has no such model
    in_sklearn : whether `sklearn.svm` has a class of the same name
    in_files : whether it can be saved in model files
    """

    module: str
    libsvm: str = ""
    in_sklearn: bool = False
    in_files: bool = True
    package: str = "estimators"

    @property
    def path(self) -> str:
        """Module inside the package `widemargin`."""
        return f"{self.package}.{self.module}"


ESTIMATORS = {
    "SVC": Entry("svc", "c_svc", in_sklearn=True),
    "NuSVC": Entry("svc", "nu_svc", in_sklearn=True),
    "OneClassSVM": Entry("single_problem", "one_class", in_sklearn=True),
    "SVR": Entry("single_problem", "epsilon_svr", in_sklearn=True),
    "NuSVR": Entry("single_problem", "nu_svr", in_sklearn=True),
    "LinearSVC": Entry("linear_svc", in_sklearn=True),
    "LinearSVR": Entry("linear_svc", in_sklearn=True),
    "KernelRidge": Entry("kernel_ridge"),
    "LSSVC": Entry("lssvm"),
    "LSSVR": Entry("lssvm"),
    "GaussianProcessRegressor": Entry("gaussian_process", in_files=False),
    "KernelLMS": Entry("kernel_lms"),
    "KernelPerceptron": Entry("perceptron"),
    "RVC": Entry("relevance"),
    "RVR": Entry("relevance"),
    "SVCCV": Entry("svccv", package="model_selection"),
    "SVRCV": Entry("svccv", package="model_selection"),
}

#: Class name -> word of LIBSVM's model files, in the order of LIBSVM's numbers.
LIBSVM_TYPES = {name: entry.libsvm for name, entry in ESTIMATORS.items() if entry.libsvm}
#: Classes of `sklearn.svm` with a counterpart of the same name here.
SKLEARN_COUNTERPARTS = tuple(name for name, entry in ESTIMATORS.items() if entry.in_sklearn)
