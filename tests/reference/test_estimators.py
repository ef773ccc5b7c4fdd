"""Reference solvers behind the estimators: by name, as objects, with fixed bias, traced."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from widemargin import SVC, SVR, NuSVC, OneClassSVM, verify
from widemargin.monitor.status import Status
from widemargin.solvers import REFERENCE, solve_blocks, solver_named
from widemargin.solvers.reference import Adatron, Chunking, Coordinate, FixedThreshold, Platt
from widemargin.training.trace import Trace

X, Y = make_classification(120, 5, random_state=3, class_sep=0.8)


@pytest.mark.parametrize("name", REFERENCE)
def test_svc_by_name(name):
    if name == "qp":
        pytest.importorskip("clarabel")
    loss = "squared_hinge" if name == "nearest-points" else "hinge"
    reference = SVC(tol=1e-6, loss=loss).fit(X, Y)
    fixed = getattr(solver_named(name), "fixed_bias", False)
    if name == "perceptron":
        with pytest.warns(ConvergenceWarning, match="ended by its own rule|used up its max_passes"):
            machine = SVC(solver=name, C=100.0).fit(X, Y)
        assert not machine.certificate_.holds and machine.score(X, Y) > 0.7
        return
    machine = SVC(solver=name, tol=1e-3, loss=loss).fit(X, Y)
    assert machine.status_ is Status.OPTIMAL and machine.certificate_.holds
    if not fixed:
        assert machine.certificate_.dual == pytest.approx(reference.certificate_.dual, rel=1e-4)
        np.testing.assert_allclose(machine.decision_function(X), reference.decision_function(X), atol=0.02)
    else:
        # A penalised bias costs: the primal of the machine with free bias lies below.
        assert machine.certificate_.dual >= reference.certificate_.dual - 1e-3
        assert np.mean(machine.predict(X) == reference.predict(X)) > 0.95


def test_a_fixed_bias_is_that_of_the_augmented_kernel():
    """f = sum b (K + tau^2): the intercept is tau^2 sum b, and its primal value is the certificate's."""
    machine = SVC(kernel="linear", solver="adatron", tol=1e-6, C=0.1).fit(X, Y)
    tau2 = (X**2).sum(axis=1).max()
    assert machine.intercept_[0] == pytest.approx(tau2 * machine.dual_coef_.sum(), rel=1e-9)
    sign = np.where(Y == 1, 1.0, -1.0)
    hinge_losses = np.maximum(0.0, 1.0 - sign * machine.decision_function(X))
    weights = np.append(machine.coef_[0], machine.intercept_[0] / np.sqrt(tau2))
    primal = 0.5 * weights @ weights + 0.1 * hinge_losses.sum()
    assert primal == pytest.approx(machine.certificate_.dual, rel=1e-4)


@pytest.mark.parametrize("tau", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("solver", [Adatron, Coordinate, FixedThreshold])
def test_tau_is_a_free_choice(solver, tau):
    """The machine is that of the kernel K + tau^2 without constraint, as a generic minimiser finds it."""
    machine = SVC(solver=solver(tau=tau), gamma=0.2, tol=1e-5).fit(X, Y)
    beta = np.zeros(len(X))
    beta[machine.support_] = machine.dual_coef_[0]
    assert machine.intercept_[0] == pytest.approx(tau**2 * beta.sum(), rel=1e-9, abs=1e-12)
    sign = np.where(Y == 1, 1.0, -1.0)
    Q = np.outer(sign, sign) * (rbf_kernel(X, gamma=0.2) + tau**2)
    dual = lambda a: (0.5 * a @ Q @ a - a.sum(), Q @ a - 1.0)  # noqa: E731
    best = minimize(dual, np.zeros(len(X)), jac=True, bounds=[(0, 1)] * len(X))
    assert -machine.certificate_.dual == pytest.approx(best.fun, rel=1e-4)
    assert machine.certificate_.holds and verify(machine, X, Y).holds
    trace = Trace()
    traced = SVC(solver=trace.of(solver(tau=tau)), gamma=0.2, tol=1e-5).fit(X, Y)
    np.testing.assert_array_equal(traced.dual_coef_, machine.dual_coef_)


def test_adatron_with_a_rate_for_each_example():
    """Table 7.1, written out: the same multipliers after each number of passes."""
    rng = np.random.default_rng(0)
    K = rbf_kernel(X, gamma=0.2) + 1.0
    rates = rng.uniform(0.1, 0.9, len(X))  # K_ii = 2
    sign, alpha = np.where(Y == 1, 1.0, -1.0), np.zeros(len(X))
    for _ in range(3):
        for i in range(len(X)):
            alpha[i] = min(max(alpha[i] + rates[i] * (1.0 - sign[i] * (K[i] @ (alpha * sign))), 0.0), 1.0)
    with pytest.warns(ConvergenceWarning):
        machine = SVC(solver=Adatron(rates=rates, tau=1.0, max_passes=3), gamma=0.2).fit(X, Y)
    beta = np.zeros(len(X))
    beta[machine.support_] = machine.dual_coef_[0]
    np.testing.assert_allclose(beta, alpha * sign, atol=1e-12)
    machine = SVC(solver=Adatron(rates=rates, tau=1.0), gamma=0.2).fit(X, Y)
    assert machine.certificate_.holds
    assert clone(machine).solver == Adatron(rates=rates.tolist(), tau=1.0)


def test_rates_that_are_too_large_end():
    with pytest.warns(ConvergenceWarning):
        machine = SVC(solver=Adatron(rates=50.0), gamma=0.2).fit(X, Y)
    assert machine.status_ in (Status.STALLED, Status.MAX_PASSES)


def test_options_of_a_fixed_bias_that_are_wrong():
    with pytest.raises(ValueError, match="tau must be 0 .no bias. or a positive number"):
        Adatron(tau=-1.0)
    with pytest.raises(ValueError, match="rates must be a positive number, or one for each example"):
        Adatron(rates=[1.0, 0.0])
    with pytest.raises(ValueError, match="rates has 3 numbers, and this problem has 120 examples"):
        SVC(solver=Adatron(rates=[1.0, 1.0, 1.0])).fit(X, Y)


@pytest.mark.parametrize("solver", ["adatron", "fixed-threshold", "coordinate"])
@pytest.mark.parametrize("machine", [SVC(), SVR()], ids=["SVC", "SVR"])
def test_a_warm_start_is_the_last_answer_with_fixed_bias_too(machine, solver):
    """Its multipliers do not sum to zero, and need not."""
    model = clone(machine).set_params(solver=solver, tol=1e-4, warm_start=True).fit(X, Y)
    assert model.certificate_.iterations > 0 and abs(model.dual_coef_.sum()) > 1e-3
    assert model.fit(X, Y).certificate_.iterations == 0 and model.certificate_.holds
    assert model.resume(X, Y).certificate_.iterations == 0 and model.certificate_.holds


def test_svc_takes_a_solver_object_and_a_function():
    one = SVC(solver=Platt(seed=3), tol=1e-5).fit(X, Y)
    two = SVC(solver=solve_blocks, tol=1e-5).fit(X, Y)
    three = clone(SVC(solver=Chunking(chunk=20), tol=1e-5)).fit(X, Y)
    duals = [machine.certificate_.dual for machine in (one, two, three)]
    assert np.ptp(duals) <= 1e-6 * abs(duals[0])
    assert clone(SVC(solver=Adatron("nonbound", omega=1.2))).get_params()["solver"] == Adatron("nonbound", omega=1.2)
    with pytest.raises(TypeError, match="solver must be a name, a solver of"):
        solver_named(3)


def test_several_classes():
    features, classes = load_iris(return_X_y=True)
    expected = SVC(tol=1e-5).fit(features, classes)
    for name in ("platt", "chunking"):
        machine = SVC(solver=name, tol=1e-5).fit(features, classes)
        np.testing.assert_allclose(machine.decision_function(features), expected.decision_function(features), atol=1e-3)
    assert SVC(solver="fixed-threshold").fit(features, classes).score(features, classes) >= 0.95


@pytest.mark.parametrize("name", ["platt", "keerthi", "adatron", "osuna"])
def test_regression(name):
    target = X[:, 0] + 0.1 * np.sin(X[:, 1])
    machine = SVR(solver=name, epsilon=0.05).fit(X[:, :2], target)
    assert machine.certificate_.holds and machine.score(X[:, :2], target) > 0.95


def test_machines_a_solver_cannot_take_are_refused_in_a_sentence():
    for machine, words in (
        (NuSVC(solver="platt"), "more than one equality constraint"),
        (NuSVC(solver="adatron"), "keeps a sum of its multipliers"),
        (OneClassSVM(solver="coordinate"), "keeps a sum of its multipliers"),
        (SVR(solver="perceptron"), "two classes with the hinge loss only"),
        (SVC(solver=lambda dual: dual), r"a function solve\(dual, gram, stopping, start=None"),
        (SVC(solver="simplex"), "solver must be one of adatron, auto, block, chunking"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            machine.fit(X, Y)


def test_platt_on_data_beyond_the_full_matrix():
    """More samples than are held as a matrix: the linear machine works on its weight vector, in float64."""
    rng = np.random.default_rng(0)
    big = (rng.random((2500, 20)) < 0.3).astype(float)
    labels = (big @ rng.normal(size=20) + rng.normal(size=2500) > 0).astype(int)
    machine = SVC(kernel="linear", C=0.1, solver="platt").fit(big, labels)
    expected = SVC(kernel="linear", C=0.1).fit(big, labels)
    assert machine.certificate_.holds
    assert machine.certificate_.dual == pytest.approx(expected.certificate_.dual, rel=1e-4)


# ----- traces
@pytest.mark.parametrize("name", ["platt", "keerthi", "adatron", "chunking", "gradient", "simplified", "block"])
def test_a_trace_has_one_entry_per_pass(name):
    trace = Trace()
    machine = SVC(solver=trace.of(name), tol=1e-4).fit(X, Y)
    n = len(trace)
    if name != "block":
        assert n >= 2 and trace.passes.tolist() == list(range(n))
        assert trace.objective[0] == 0.0
    assert np.all(np.diff(trace.objective) <= 1e-9)
    assert np.all(np.diff(trace.iterations) >= 0) and np.all(np.diff(trace.seconds) >= 0)
    assert trace.objective[-1] == pytest.approx(-machine.certificate_.dual, rel=1e-4)
    assert trace.violation[-1] <= 2e-4
    assert np.all(trace.gap >= -1e-12) and trace.gap[-1] < 1e-3
    assert trace.n_support[-1] == pytest.approx(len(machine.support_), abs=3)


def test_the_margin_of_a_trace_grows_to_the_widest():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(40, 2))
    y = (points[:, 0] > 0).astype(int)
    points[:, 0] += np.where(y, 1.0, -1.0)
    trace = Trace()
    machine = SVC(kernel="linear", C=np.inf, solver=trace.of("keerthi"), tol=1e-6).fit(points, y)
    assert trace.margin[-1] == pytest.approx(1.0 / np.linalg.norm(machine.coef_), rel=1e-4)
    assert trace.margin[-1] == pytest.approx(np.nanmax(trace.margin), rel=1e-4)
    assert np.isnan(trace.margin[0])  # no weights yet
    with pytest.raises(AttributeError, match="has no 'loss'"):
        _ = trace.loss


def test_traces_of_several_problems_and_of_regression():
    features, classes = load_iris(return_X_y=True)
    trace = Trace()
    SVC(solver=trace.of("platt"), n_jobs=1).fit(features, classes)
    assert len(trace.records) == 3
    trace = Trace()
    SVR(solver=trace.of("platt")).fit(features[:, :3], features[:, 3])
    assert np.isnan(trace.margin).all() and trace.gap[-1] < 0.05
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(Trace()) == 0
