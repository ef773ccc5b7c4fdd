"""Gaussian processes keep scikit-learn's contract: its own checks, with no failure expected."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import GaussianProcessRegressor
from widemargin.kernels import Gaussian

pytestmark = pytest.mark.needs_compiler  # too many fits for interpreted code


@pytest.mark.usefixtures("array_api")
@parametrize_with_checks(
    [
        GaussianProcessRegressor(),
        GaussianProcessRegressor(1.0 * Gaussian(0.5), alpha=0.1, optimizer=None, solver="cg"),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)
