"""The estimators keep scikit-learn's contract: its own checks, with no failure expected but an infeasible nu.

scikit-learn's machines fail `check_sample_weight_equivalence`, which compares weight 2 with the sample given twice to
seven digits: `tol` allows two answers to differ. Ours go on to rounding where the data are as few as in a check.
"""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM

pytestmark = pytest.mark.needs_compiler  # too many fits for interpreted code

# These draw classes too unequal for the default nu of NuSVC. Of NuSVR and OneClassSVM every nu up to 1 is feasible.
INFEASIBLE = dict.fromkeys(
    ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
    "specified nu is infeasible, in scikit-learn too",
)


@pytest.mark.usefixtures("array_api")
@parametrize_with_checks(
    [
        SVC(),
        SVC(kernel="linear"),
        SVC(kernel="precomputed"),
        SVC(multi_class="ovr", loss="squared_hinge"),
        NuSVC(),
        NuSVC(nu=0.3),
        SVR(),
        SVR(kernel="precomputed"),
        NuSVR(),
        OneClassSVM(),
    ],
    expected_failed_checks=lambda estimator: INFEASIBLE if repr(estimator) == "NuSVC()" else {},
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:With these class weights nu can be at most")
def test_scikit_learn_checks(estimator, check):
    check(estimator)
