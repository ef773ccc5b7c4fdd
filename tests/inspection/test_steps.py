"""Recorded steps are those of the fit, and each one is the step of the formulas."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from widemargin import SVC, SVR, OneClassSVM, steps
from widemargin.solvers.reference import Adatron, Platt


@pytest.fixture(scope="module")
def overlapping():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=30) > 0.0, 1, -1)


@pytest.mark.parametrize("solver", ["platt", "keerthi", "simplified", "adatron", "coordinate", "fixed-threshold"])
def test_steps_are_those_of_the_fit(overlapping, solver):
    X, y = overlapping
    machine = SVC(C=2.0, gamma=0.5, solver=solver)
    made = steps(machine, X, y, most=10_000)
    assert not hasattr(machine, "support_") and made.model.get_params() == machine.get_params()
    machine.fit(X, y)
    assert made.status is machine.status_
    assert abs(len(made) - machine.n_iter_[0]) <= (0 if solver in ("platt", "keerthi") else 2)  # rounding differs
    np.testing.assert_allclose(made.model.decision_function(X), machine.decision_function(X), atol=1e-12)
    np.testing.assert_allclose(made[-1].objective, machine.certificate_.objective, rtol=1e-12)
    assert made[-1].violation <= 1e-3 * (1.0 + 1e-9)
    assert np.all(np.diff([step.objective for step in made]) >= -1e-12)
    assert [step.number for step in made] == list(range(1, len(made) + 1))


@pytest.mark.parametrize("solver", ["platt", "keerthi", "simplified"])
def test_a_pair_is_moved_as_the_report_says(overlapping, solver):
    """Platt (1998), equations (13) to (18), on multipliers and labels of the classifier."""
    X, y = overlapping
    C, K = 2.0, rbf_kernel(X, gamma=0.5)
    alpha = np.zeros(len(y))
    for step in steps(SVC(C=C, gamma=0.5, solver=solver), X, y, most=60):
        i2, i1 = step.first, step.second
        assert step.before == pytest.approx((alpha[i2], alpha[i1]), abs=1e-12)
        error = K @ (alpha * y) - y  # less the threshold, which cancels
        if y[i1] != y[i2]:
            low, high = max(0.0, alpha[i2] - alpha[i1]), min(C, C + alpha[i2] - alpha[i1])
        else:
            low, high = max(0.0, alpha[i2] + alpha[i1] - C), min(C, alpha[i2] + alpha[i1])
        eta = K[i1, i1] + K[i2, i2] - 2.0 * K[i1, i2]
        unclipped = alpha[i2] + y[i2] * (error[i1] - error[i2]) / eta
        assert (step.eta, step.low, step.high) == pytest.approx((eta, low, high), abs=1e-12)
        assert step.unclipped == pytest.approx(unclipped, abs=1e-9)
        new = min(max(unclipped, low), high)
        assert step.after[0] == pytest.approx(new, abs=1e-9) and step.is_clipped == (not low < unclipped < high)
        alpha[i1] += y[i1] * y[i2] * (alpha[i2] - new)
        alpha[i2] = new
        np.testing.assert_allclose(step.multipliers, alpha, atol=1e-9)
        assert step.objective == pytest.approx(alpha.sum() - 0.5 * (alpha * y) @ K @ (alpha * y), rel=1e-9)
        alpha = step.multipliers
        for i in (i1, i2):  # (20), (21): a multiplier inside its box puts its point on the margin
            if 0.0 < alpha[i] < C and not 0.0 < alpha[{i1: i2, i2: i1}[i]] < C:
                assert step.threshold == pytest.approx((K @ (alpha * y) - y)[i], abs=1e-9)


def test_the_partner_is_the_point_that_the_heuristic_names(overlapping):
    X, y = overlapping
    K, alpha, by_distance = rbf_kernel(X, gamma=0.5), np.zeros(len(y)), 0
    for step in steps(SVC(C=2.0, gamma=0.5, solver="platt"), X, y):
        free = np.flatnonzero((alpha > 0.0) & (alpha < 2.0))
        if "largest |E1 - E2|, " in step.why[1]:
            error = K @ (alpha * y) - y
            assert np.abs(error - error[step.first])[free].max() == pytest.approx(
                abs(error[step.second] - error[step.first])
            )
            by_distance += 1
        assert ("bound point, from" in step.why[1] and "non-bound point," not in step.why[1]) == (
            step.second not in free
        )
        alpha = step.multipliers
    assert by_distance > 10


def test_one_multiplier_moves_by_rate_times_slope(overlapping):
    X, y = overlapping
    K = rbf_kernel(X, gamma=0.5) + 1.0  # tau is the largest |x| in feature space
    alpha = np.zeros(len(y))
    for step in steps(SVC(C=2.0, gamma=0.5, solver=Adatron(omega=1.5)), X, y, most=100):
        i = step.first
        assert step.second is None and (step.low, step.high, step.eta) == (0.0, 2.0, 2.0)
        unclipped = alpha[i] + 1.5 / 2.0 * (1.0 - y[i] * (K @ (alpha * y))[i])
        assert step.unclipped == pytest.approx(unclipped, abs=1e-9)
        assert step.after[0] == pytest.approx(min(max(unclipped, 0.0), 2.0), abs=1e-9)
        alpha = step.multipliers


@pytest.mark.parametrize("machine", [SVR(epsilon=0.2, solver="platt"), OneClassSVM(solver="keerthi")])
def test_other_machines(overlapping, machine):
    X, _ = overlapping
    y = X[:, 0] ** 2 if isinstance(machine, SVR) else None
    made = steps(machine, X, y)
    assert made[-1].objective == pytest.approx(made.model.certificate_.objective, rel=1e-9)
    for step in made:
        assert step.low - 1e-12 <= step.after[0] <= step.high + 1e-12
        expected = min(max(step.unclipped, step.low), step.high)
        assert step.after[0] == pytest.approx(expected, abs=1e-9)


def test_printed(overlapping):
    X, y = [[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]], [-1, -1, 1, 1]
    made = steps(SVC(kernel="linear", solver="platt"), X, y)
    header, row, end = str(made).splitlines()
    assert header.split() == ["step", "point", "partner", "eta", "L", "H", "unclipped", "clipped", "threshold",
                              "objective", "violation"]  # fmt: skip
    assert row.split() == ["1", "0", "2", "8", "0", "1", "0.25", "0.25", "0", "0.25", "0.0e+00"]
    assert end == "1 steps, OPTIMAL" and "<td>0.25</td>" in made._repr_html_()
    assert "point 0        next in order; violates its condition by 1" in str(made[0])
    few = steps(SVC(solver=Platt(seed=3)), *overlapping, most=5)
    assert len(few) == 5 and few.status.name == "MAX_ITER" and "MAX_ITER" in repr(few)
    assert max(map(len, str(few).splitlines())) <= 120 and [step.number for step in few[1:3]] == [2, 3]


def test_what_is_refused(overlapping):
    X, y = overlapping
    with pytest.raises(ValueError, match="steps of solver='auto' are not recorded: choose 'platt'"):
        steps(SVC(), X, y)
    with pytest.raises(TypeError, match="needs an estimator with a parameter `solver`"):
        steps("platt", X, y)
    with pytest.raises(ValueError, match="most, the number of steps"):
        steps(SVC(solver="platt"), X, y, most=0)
    for machine, labels in ((SVC(solver="platt"), np.arange(30) % 3), (SVC(solver="platt", probability=True), y)):
        with pytest.raises(ValueError, match="one problem: two classes without probabilities, or a regression"):
            steps(machine, X, labels)
