"""LinearSVC and LinearSVR keep scikit-learn's contract: its own checks at their defaults, no failure expected."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import LinearSVC, LinearSVR

pytestmark = pytest.mark.needs_compiler  # too many fits for interpreted code


@pytest.mark.usefixtures("array_api")
@parametrize_with_checks(
    [
        LinearSVC(),
        LinearSVC(loss="hinge", penalize_intercept=False),
        LinearSVR(),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
