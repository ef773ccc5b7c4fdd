"""Fits that never returned in other software, as their users reported them: each ends here, within a number of steps.

Bounds are in steps, so that a slow machine changes nothing. Every fit ends with a certificate that holds or with a
diagnosis that names the cause. Where the reported data are not public, data of the same kind are made.
"""

import re
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVC, SVR, NuSVC, NuSVR, Status
from widemargin.training import certified as training
from widemargin.training.certified import most_steps, rounding_of

pytestmark = pytest.mark.needs_compiler


def fit(machine, X, y, steps):
    """Fit within `steps` of each problem; the answer is certified, or its warning names a cause."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        machine.fit(X, y)
    assert np.max(machine.n_iter_) <= steps
    assert np.isfinite(machine.dual_coef_).all() and np.isfinite(machine.intercept_).all()
    if machine.status_ is Status.INDEFINITE:  # the conditions may hold, but at a point that need not be the best
        assert "not positive semi-definite" in machine.diagnosis_
    elif machine.certificate_.holds:
        assert machine.fit_status_ == 0 and machine.diagnosis_ == ""
    else:
        assert any(issubclass(each.category, ConvergenceWarning) for each in caught)
        assert machine.diagnosis_ != ""
    return machine


def two_points():
    return np.array([[1.0, 99999.0], [2.0, 99999.0]]), np.array([0, 1])


@pytest.mark.parametrize("gamma", [0.5, "scale", "auto"])
@pytest.mark.parametrize("degree", [2, 3])
def test_two_points_with_a_large_constant_feature(degree, gamma):
    """scikit-learn issue 4648."""
    fit(SVC(kernel="poly", degree=degree, gamma=gamma), *two_points(), steps=1_000)


@pytest.mark.parametrize("C, degree, gamma", [(0.6653, 7, 4178.386), (1.2347, 7, 4317.581), (0.8157, 8, 864.158)])
@pytest.mark.parametrize("fold", [0, 1])
def test_iris_with_polynomials_of_high_degree(C, degree, gamma, fold):
    """scikit-learn issue 13557, whose cross-validation hung on some folds."""
    X, y = load_iris(return_X_y=True)
    rows = np.random.default_rng(fold).permutation(150)[:84]
    fit(SVC(C=C, kernel="poly", degree=degree, gamma=gamma), X[rows], y[rows], steps=400_000)


def test_six_samples_for_nu_with_probabilities():
    """scikit-learn issue 13075: six samples, two of them all but equal."""
    rng = np.random.default_rng(0)
    X = np.round(rng.uniform(size=(6, 13)) * (rng.uniform(size=(6, 13)) < 0.4), 4)
    X[5] = X[0]
    X[5, 9] += 2e-4
    y = np.array([False, True, True, False, True, False])
    machine = NuSVC(coef0=10.0, gamma="auto", kernel="poly", nu=2 / 7, probability=True)
    for seed in range(20):
        machine.random_state = seed
        fit(machine, X, y, steps=1_000)
        assert np.isfinite(machine.predict_proba(X)).all()


@pytest.mark.parametrize("stretch", [1.0, 40.0], ids=["scaled", "unscaled"])
def test_one_feature_and_a_polynomial_of_degree_four(stretch):
    """scikit-learn issue 30353 and LIBSVM issue 225: a pair of samples was chosen again and again for ever."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 1))
    y = (rng.uniform(size=400) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    X *= stretch / np.abs(X).max()
    machine = SVC(C=100, kernel="poly", degree=4, gamma=0.9597, tol=0.01, class_weight={0: 1.0488, 1: 0.9555})
    machine = fit(machine, X, y, steps=2_000_000)
    assert machine.certificate_.holds or "C is too large for double precision" in machine.diagnosis_


def expression_levels(n=100):
    """Mixed tissue, as in the report: positive values over five orders of magnitude, not scaled."""
    rng = np.random.default_rng(1)
    X = np.exp(rng.normal(5.0, 2.5, size=(n, 22)))
    return X, X @ rng.dirichlet(np.ones(22)) + rng.normal(0.0, 50.0, n)


@pytest.mark.parametrize("machine", [NuSVR(kernel="linear"), SVR(kernel="linear")], ids=str)
def test_linear_regression_on_expression_levels(machine):
    """scikit-learn issue 11079: hours on 547 x 22 unscaled values."""
    fit(machine, *expression_levels(), steps=800_000)


def accounts(n=300):
    """Amounts of money beside ages and flags: the unscaled table of many reports."""
    rng = np.random.default_rng(2)
    money = rng.lognormal(9.0, 1.5, size=(n, 6)) * rng.integers(0, 2, size=(n, 6))
    X = np.c_[rng.lognormal(11.0, 1.0, n), rng.integers(1, 3, n), rng.integers(20, 70, n), money]
    return X, (rng.uniform(size=n) < 0.25 + 0.3 * (X[:, 0] < 4e4)).astype(int)


@pytest.mark.parametrize(
    "machine",
    [
        SVC(kernel="linear"),
        SVC(kernel="poly", coef0=1.0, gamma=1.0),
        SVC(C=1e5, gamma=1e-3),
        SVC(),
        SVC(kernel="sigmoid"),
    ],
    ids=str,
)
def test_unscaled_accounts(machine):
    """scikit-learn issue 11020, ThunderSVM issues 125 (C = 1e5) and 126."""
    fit(machine, *accounts(), steps=800_000)


def test_the_feature_is_named():
    X, y = accounts()
    X[:, 1] *= 1e9
    with pytest.warns(ConvergenceWarning, match=r"Feature 1 \(counted from 0\).*StandardScaler"):
        SVC(kernel="linear", max_iter=3).fit(X, y)
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=[f"column{k}" for k in range(9)])
    with pytest.warns(ConvergenceWarning, match="Feature 'column1'"):
        SVC(kernel="linear", max_iter=3).fit(frame, y)


def test_a_large_constant_feature_is_named():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    X[:, 2] += 1e6
    machine = SVC(kernel="linear", max_iter=3)
    with pytest.warns(ConvergenceWarning, match=r"Feature 2 .* everywhere and varies by"):
        machine.fit(X, y)


def test_an_indefinite_kernel_is_named():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    with pytest.warns(
        ConvergenceWarning, match="not positive semi-definite: a block of 60 samples has the eigenvalues -"
    ):
        SVC(kernel="sigmoid", gamma=1.0, coef0=-1.0, C=10.0, max_iter=3).fit(X, y)


def test_a_large_C_is_named():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    with pytest.warns(ConvergenceWarning, match=r"C = 1e\+06 .* nearly a hard margin"):
        SVC(C=1e6, max_iter=3).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="C is too large for double precision"):
        SVC(C=1e16, max_iter=3).fit(X, y)


def test_a_small_tol_is_named():
    """Rounding of 1e-14 harms nobody at the usual tol: C = 10 is not too large."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    with pytest.warns(
        ConvergenceWarning, match="tol = 1e-15 is too small for double precision: with C = 10 "
    ) as caught:
        SVC(C=10.0, tol=1e-15).fit(X, y)
    sentence = str(caught[0].message)
    assert "C is too large" not in sentence
    enough = float(re.search(r"Raise tol to (\S+) or more", sentence)[1])
    assert 1e-14 < enough < 1e-10 and SVC(C=10.0, tol=enough).fit(X, y).certificate_.holds


def test_without_max_iter_there_is_still_a_bound(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 2, 80)
    monkeypatch.setattr(training, "MOST_STEPS", (10, 1))
    with pytest.warns(ConvergenceWarning, match="far more steps"):
        machine = SVC(C=100.0, tol=1e-8).fit(X, y)
    assert machine.status_ is Status.TOO_SLOW and machine.n_iter_ <= 90
    assert machine.resume(X, y, max_iter=1_000_000).certificate_.holds  # a bound of the user's own counts


def test_the_bound_grows_with_the_problem_and_shrinks_where_rounding_rules():
    from widemargin.problems import hinge, squared_hinge

    assert most_steps(100, below_rounding=False) == 15_030_000 and most_steps(3_000, below_rounding=False) == 5_900_000
    assert most_steps(3_000, below_rounding=True) == 500_000
    y = np.tile([1.0, -1.0], 50)
    eps = np.finfo(float).eps
    assert rounding_of(hinge(y, np.full(100, 3.0)), np.full(100, 1e20), 100) == pytest.approx(3e20 * eps * 10)
    assert rounding_of(hinge(y, np.full(100, np.inf)), np.ones(100), 100) == 0.0  # no C, no bound to speak of
    assert rounding_of(squared_hinge(y, np.full(100, 3.0)), np.full(100, 1e20), 100) == pytest.approx(3e20 * eps * 10)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("loss, C", [("hinge", np.inf), ("squared_hinge", 1.0), ("squared_hinge", 1e9)])
def test_multipliers_of_an_indefinite_kernel_do_not_grow_for_ever(loss, C, seed):
    """Their objective overflows to NaN, which is no progress."""
    rng = np.random.default_rng(seed)
    noise, y = rng.normal(size=(20, 20)), np.r_[0, 1, rng.integers(0, 2, 18)]
    machine = fit(SVC(kernel="precomputed", loss=loss, C=C), noise + noise.T, y, steps=200_000)
    assert machine.status_ is Status.INDEFINITE


@pytest.mark.parametrize("C", [3e5, 1e9])
def test_a_squared_loss_with_a_very_large_C_is_solved_in_double_precision(C):
    """The rounding of float32 rows exceeds 1 / (2 C), so that K + D is indefinite in them and multipliers grow."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(60, 2)), 40, axis=0) + 1e-3 * rng.normal(size=(2400, 2))
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=2400)
    machine = fit(SVR(C=C, loss="squared_epsilon_insensitive", gamma=1.0, epsilon=0.0), X, y, steps=1_000_000)
    assert machine.score(X, y) > 0.8


@pytest.mark.parametrize("machine", ["nu", "one-class"])
def test_small_weights_are_as_good_as_large_ones(machine):
    """With weights of 1e-8 every slope is below tol at the start; the fit must go on all the same."""
    from widemargin import OneClassSVM

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 2, 80)
    make = (lambda: NuSVC(nu=0.3, tol=1e-7)) if machine == "nu" else (lambda: OneClassSVM(nu=0.3, tol=1e-7))
    large, small = make().fit(X, y), make().fit(X, y, np.full(80, 1e-8))
    scale = 1.0 if machine == "nu" else 1e-8
    np.testing.assert_allclose(small.decision_function(X), scale * large.decision_function(X), atol=2e-3 * scale)
    assert small.certificate_.iterations > 0


def test_where_float32_rows_lead_below_the_start_double_precision_begins_there(monkeypatch):
    """From -6e10, the dual of their answer, it would take more steps than a fit may make; the start has 0."""
    began = []

    class Seen(Exception):
        """Ends the fit: how it goes on is not looked at."""

    def continue_from(solver, before, dual, gram, stopping, watch):
        if gram.dtype == np.float64:
            began.append((before.beta.copy(), before.Kb.copy()))
            raise Seen
        return whole(solver, before, dual, gram, stopping, watch)

    whole = training.CertifiedSolver.continue_from
    monkeypatch.setattr(training.CertifiedSolver, "continue_from", continue_from)
    rng = np.random.default_rng(0)
    X = 100.0 * rng.normal(size=(2100, 5))
    y = np.sign(X[:, 0] / 100.0 + (X[:, 1] / 100.0) ** 2 - 1.0 + rng.normal(size=2100))
    with pytest.raises(Seen):
        SVC(C=1e8, gamma=1e-5).fit(X, y)
    ((beta, Kb),) = began
    assert not beta.any() and not Kb.any()
