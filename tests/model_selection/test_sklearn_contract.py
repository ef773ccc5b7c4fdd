"""SVCCV and SVRCV keep scikit-learn's contract: its own checks, with no failure expected."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import SVCCV, SVRCV

pytestmark = pytest.mark.needs_compiler  # too many fits for interpreted code

SMALL = {"Cs": [0.5, 5.0], "cv": 3}


@pytest.mark.usefixtures("array_api")
@parametrize_with_checks(
    [
        SVCCV(**SMALL, gammas=[0.05, 0.5]),
        SVCCV(**SMALL, kernel="precomputed"),
        SVCCV(Cs=2, gammas=2, cv=3),
        SVRCV(**SMALL, gammas=[0.05, 0.5], epsilons=[0.1]),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:The best score is at")
@pytest.mark.filterwarnings("ignore:The least populated class in y has only")
def test_scikit_learn_checks(estimator, check):
    check(estimator)
