"""Relevance vector machines keep scikit-learn's contract: its own checks, with no failure expected."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import RVC, RVR

pytestmark = pytest.mark.needs_compiler  # too many fits for interpreted code


@pytest.mark.usefixtures("array_api")
@parametrize_with_checks([RVC(max_iter=30), RVR(max_iter=30)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)
