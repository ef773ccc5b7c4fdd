"""Gaussian processes: regression with error bars, at sizes where the matrix no longer fits."""

from widemargin.gaussian_process.regressor import GaussianProcessRegressor

__all__ = ["GaussianProcessRegressor"]
