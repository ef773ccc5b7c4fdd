"""The least-squares machines keep scikit-learn's contract: its own checks, with no failure expected."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import LSSVC, LSSVR, KernelLMS, KernelRidge

pytestmark = pytest.mark.needs_compiler  # too many fits for interpreted code


@pytest.mark.usefixtures("array_api")
@parametrize_with_checks(
    [
        KernelRidge(kernel="rbf", alpha=0.1),
        LSSVC(),
        LSSVR(solver="cg", tol=1e-10),
        KernelLMS(max_iter=100),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:Singular matrix")  # random numbers are no kernel matrix
def test_scikit_learn_checks(estimator, check):
    check(estimator)
