"""The faces of scikit-learn: validate, build, train, expose."""

from widemargin.estimators.nu_svc import NuSVC
from widemargin.estimators.one_class import OneClassSVM
from widemargin.estimators.regressor import SVR, NuSVR
from widemargin.estimators.svc import SVC

__all__ = ["SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"]
