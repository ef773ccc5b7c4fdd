"""The least-squares machines keep scikit-learn's contract: its own checks, with no failure expected."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import KernelRidge

pytestmark = pytest.mark.needs_compiler  # too many fits for interpreted code


@parametrize_with_checks(
    [
        KernelRidge(),
        KernelRidge(kernel="rbf", alpha=0.1),
        KernelRidge(kernel="precomputed"),
        KernelRidge(kernel="rbf", alpha=0.1, solver="cg", tol=1e-10),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
