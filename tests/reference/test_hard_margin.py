"""C = inf, by every solver and every stop rule: the primal is infinite until the classes are separated."""

import numpy as np
import pytest

from tests.oracles import signs
from tests.reference.solvers import needs
from widemargin import SVC, SVR, verify
from widemargin.gram import FullGram
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import CRITERIA, Stopping
from widemargin.problems import hinge
from widemargin.problems.fixed_bias import without_bias
from widemargin.problems.measure import measure
from widemargin.solvers import REFERENCE, SOLVERS
from widemargin.solvers.reference import Adatron
from widemargin.training.trace import Trace

FOUR, LABELS = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]]), np.array([0, 0, 1, 1])
BY_ANY_MARGIN = "perceptron"  # ends at the first hyperplane that separates
MAXIMISING = [name for name in (*SOLVERS, *REFERENCE) if name != BY_ANY_MARGIN]


@pytest.mark.parametrize("stopping", CRITERIA)
@pytest.mark.parametrize("solver", MAXIMISING)
def test_four_points(solver, stopping):
    needs(solver)
    model = SVC(kernel="linear", C=np.inf, solver=solver, stopping=stopping).fit(FOUR, LABELS)
    np.testing.assert_allclose(model.coef_, 0.5, atol=0.02)
    assert model.status_ is Status.OPTIMAL and model.certificate_.holds and model.certificate_.gap <= 2e-3
    assert verify(model, FOUR, LABELS).holds


@pytest.mark.filterwarnings("ignore:The solver ended by its own rule")
@pytest.mark.parametrize("stopping", CRITERIA)
@pytest.mark.parametrize("solver", MAXIMISING)
def test_two_separable_clouds(solver, stopping):
    needs(solver)
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 3))
    y = signs(X[:, 0])
    X[:, 0] += y
    model = SVC(kernel="linear", C=np.inf, solver=solver, stopping=stopping, tol=1e-2).fit(X, y)
    assert (model.predict(X) == y).all() and model.certificate_.objective > 0.0
    assert model.certificate_.holds or stopping == "objective"  # small growth proves nothing, and is said to


@pytest.mark.filterwarnings("ignore:The solver ended by its own rule")
@pytest.mark.parametrize("stopping", CRITERIA)
@pytest.mark.parametrize("solver", [s for s in MAXIMISING if s not in ("multiplicative", "nearest-points", "gradient")])
def test_regression_inside_a_tube_without_slack(solver, stopping):
    needs(solver)
    x = np.linspace(-1.0, 1.0, 12)[:, None]
    model = SVR(kernel="linear", C=np.inf, epsilon=0.2, solver=solver, stopping=stopping, tol=1e-3)
    model.fit(x, 2.0 * x[:, 0])
    assert model.certificate_.holds or stopping == "objective"
    assert np.abs(model.predict(x) - 2.0 * x[:, 0]).max() <= 0.2 + 0.02
    assert float(model.coef_[0, 0]) == pytest.approx(1.8, abs=0.03)


@pytest.mark.parametrize("stopping", CRITERIA)
def test_any_separating_hyperplane_is_not_the_widest(stopping):
    model = SVC(kernel="linear", C=np.inf, solver="perceptron", stopping=stopping)
    with pytest.warns(UserWarning, match="its own rule"):
        model.fit(FOUR, LABELS)
    assert (model.predict(FOUR) == LABELS).all() and not model.certificate_.holds


def test_the_gap_until_the_classes_are_separated_is_that_of_a_box_above_the_multipliers():
    X, y = np.array([[0.0, 0.0], [0.0, 5.0], [1.0, 3.0], [1.0, -4.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    beta = np.array([0.0, -0.5, 0.5, 0.0])  # the weights (0.5, -1) do not separate the classes
    Kb, hard = X @ X.T @ beta, hinge(y, np.full(4, np.inf))
    assert measure(hard, beta, Kb)["gap"] == measure(hinge(y, np.full(4, 1.5)), beta, Kb)["gap"] < np.inf
    assert measure(hard, np.zeros(4), np.zeros(4))["gap"] == 1.0  # four losses of one against a dual of zero
    trace = Trace()
    SVC(kernel="linear", C=np.inf, solver=trace.of("gradient")).fit(FOUR, LABELS)
    assert np.isfinite(trace.gap).all() and trace.gap[0] == 1.0 and trace.gap[-1] <= 1e-3


def test_the_box_does_not_stop_a_run_on_classes_that_cannot_be_separated():
    # One point with both labels: with the box, the relative gap is about 1 / alpha, while alpha has no bound.
    hard = without_bias(hinge(np.array([1.0, -1.0]), np.full(2, np.inf)))
    gaps = []
    solution = Adatron(max_passes=300).solve(
        hard,
        FullGram(np.ones((2, 2))),
        Stopping(tol=1e-2, criterion="gap"),
        watch=lambda now: gaps.append(measure(hard, *now.point())["gap"]),
    )
    assert min(gaps) <= 1e-2 and solution.status is not Status.OPTIMAL
