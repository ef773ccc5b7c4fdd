"""Answers against a generic QP solver, certificates against plain NumPy, and the optimum where LIBLINEAR stalls."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification

from tests.linear.machines import CLASSIFIERS, INTERCEPTS, LOSSES, estimator, primal, samples, signed_dual
from tests.oracles import solve_qp
from widemargin import LinearSVC


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_objective_is_that_of_a_generic_qp_solver(loss, intercept, sparse):
    X, y = samples(loss, sparse=sparse)
    C = np.linspace(0.1, 2.0, len(y))
    options = INTERCEPTS[intercept]
    machine = estimator(loss, C=1.0, tol=1e-9, **options).fit(X, y, sample_weight=C)
    dense = X.toarray() if sparse else X
    tau = {"penalised": 1.0, "scaled": 3.0, "free": np.inf, "none": 0.0}[intercept]
    K = dense @ dense.T + (0.0 if tau == np.inf else tau**2)
    value, _ = solve_qp(signed_dual(loss, y, C, intercept == "free"), K)
    own = primal(loss, X, y, C, np.ravel(machine.coef_), np.ravel(machine.intercept_)[0], tau)
    assert own == pytest.approx(-value, rel=1e-7)
    assert machine.certificate_.primal == pytest.approx(own, rel=1e-12)
    assert machine.certificate_.dual <= -value * (1 + 1e-7)
    assert machine.certificate_.dual == pytest.approx(own, rel=1e-8)
    assert machine.certificate_.holds
    assert machine.certificate_.infeasibility <= 1e-9


@pytest.mark.parametrize("free", [False, True])
def test_reaches_the_optimum_where_liblinear_stalls(free):
    """500 x 50, C = 0.1, hinge, tol = 1e-12: scikit-learn's LinearSVC ends its passes far above this accuracy."""
    X, y = make_classification(500, 50, n_informative=20, random_state=0)
    machine = LinearSVC(loss="hinge", C=0.1, tol=1e-12, penalize_intercept=not free).fit(X, y)
    K = X @ X.T + (0.0 if free else 1.0)
    value, _ = solve_qp(signed_dual("hinge", y, np.full(500, 0.1), free), K)
    assert machine.certificate_.gap < 1e-9
    assert machine.certificate_.primal == pytest.approx(-value, rel=1e-9)
    assert machine.certificate_.holds


@pytest.mark.parametrize("loss", CLASSIFIERS)
def test_gap_is_a_bound_at_any_tolerance(loss):
    """A loose answer's certificate must not promise more than a tight answer delivers."""
    X, y = make_classification(3000, 30, n_informative=10, flip_y=0.1, random_state=1)
    loose = LinearSVC(loss=loss, C=1.0, tol=1e-2).fit(X, y).certificate_
    tight = LinearSVC(loss=loss, C=1.0, tol=1e-10).fit(X, y).certificate_
    assert loose.gap <= 1e-2 and tight.gap <= 1e-10
    assert loose.dual <= tight.primal * (1 + 1e-12)
    assert tight.dual <= loose.primal * (1 + 1e-12)
    assert loose.primal / tight.primal - 1.0 <= loose.gap * 1.02


def test_dense_csr_and_float32_are_the_same_machine():
    X, y = samples("hinge", n=200, d=20, sparse=True)
    X = sp.csr_array(X.toarray().astype(np.float32))
    expected = LinearSVC(tol=1e-10).fit(X.toarray().astype(np.float64), y)
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for form in (X, X.toarray(), wide, X.astype(np.float64), sp.csc_array(X), np.asfortranarray(X.toarray())):
        machine = LinearSVC(tol=1e-10).fit(form, y)
        np.testing.assert_allclose(machine.coef_, expected.coef_, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(machine.decision_function(form), expected.decision_function(X), rtol=1e-5, atol=1e-6)


def test_unsorted_and_duplicate_indices_mean_their_sum():
    X = sp.csr_array(
        (np.array([1.0, 2.0, 3.0, -1.0, -2.0, 0.5]), np.array([2, 0, 2, 1, 0, 0]), np.array([0, 3, 5, 6])), shape=(3, 3)
    )
    given = X.indices.copy()
    machine = LinearSVC().fit(X, [1, 0, 0])
    np.testing.assert_array_equal(X.indices, given)  # the caller's matrix stays as it is
    np.testing.assert_allclose(machine.coef_, LinearSVC().fit(X.toarray(), [1, 0, 0]).coef_, rtol=1e-8)


def test_a_long_round_is_no_stall():
    """Within a round of the proximal method the gap can stay above its best for scores of steps before it falls."""
    rng = np.random.default_rng(2)
    groups = [rng.integers(0, size, 4000) for size in (5, 8, 16, 7, 14, 6, 5, 2, 40)]  # one-hot, as in census data
    X = sp.csr_array(np.hstack([np.eye(group.max() + 1)[group] for group in groups]))
    y = (X @ rng.normal(size=X.shape[1]) + 6.0 * rng.normal(size=4000) > 1.0).astype(int)
    machine = LinearSVC(loss="hinge", C=1000.0, tol=1e-8).fit(X, y)
    assert machine.status_.converged
    assert machine.certificate_.gap <= 1e-8
