"""scikit-learn's callbacks in the machines outside `estimators/`: steps, half-trained machines, wishes to stop."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from widemargin import (
    LSSVC,
    LSSVR,
    RVC,
    RVR,
    GaussianProcessRegressor,
    KernelLMS,
    KernelPerceptron,
    KernelRidge,
    LinearSVC,
    LinearSVR,
    Status,
)
from widemargin.kernels import Gaussian
from widemargin.problems.linear import LinearRun

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn < 1.9 has no callbacks")

IRIS = load_iris(return_X_y=True)
TWO = make_classification(300, 6, flip_y=0.05, random_state=0)
NUMBERS = make_regression(150, 4, noise=5.0, random_state=0)
NUMBERS = NUMBERS[0], NUMBERS[1] / NUMBERS[1].std()
SEVERAL = NUMBERS[0], np.column_stack([NUMBERS[1], NUMBERS[0][:, 0]])

#: machine, its data, and the number of steps it reports as far as its own count of them tells
CASES = {
    "ridge": (KernelRidge(0.1, kernel="rbf", solver="cg"), NUMBERS, lambda m: m.n_iter_),
    "ridge of two penalties": (
        KernelRidge([0.1, 1.0], kernel="rbf", solver="cg"),
        SEVERAL,
        lambda m: sum(certificate.iterations for certificate in m.certificates_),
    ),
    "least squares": (LSSVR(solver="cg"), NUMBERS, lambda m: m.n_iter_),
    "least squares of classes": (LSSVC(solver="cg"), IRIS, lambda m: m.n_iter_),
    "process": (
        GaussianProcessRegressor(1.0 * Gaussian(0.2), alpha=0.1, optimizer=None, solver="cg"),
        NUMBERS,
        lambda m: m.n_iter_,
    ),
    "mean squares": (KernelLMS(tol=0.2), NUMBERS, lambda m: m.n_iter_),
    "mean squares of single samples": (KernelLMS(method="sgd", tol=0.05, random_state=0), NUMBERS, lambda m: m.n_iter_),
    "relevance": (RVR(gamma=0.02), NUMBERS, lambda m: m.n_iter_),
    "relevance of classes": (RVC(), IRIS, lambda m: sum(model.iterations for model in m._models)),
    "linear": (LinearSVC(loss="hinge"), TWO, lambda m: m.n_iter_ + 1),
    "linear of classes": (LinearSVC(), IRIS, lambda m: sum(c.iterations + 1 for c in m.certificates_)),
    "linear with free bias": (LinearSVC(penalize_intercept=False), TWO, lambda m: m.n_iter_ + 1),
    "linear of numbers": (LinearSVR(), NUMBERS, lambda m: m.n_iter_ + 1),
    "few features": (LinearSVC(penalty="l1"), TWO, lambda m: m.n_iter_),
    "joint": (LinearSVC(multi_class="crammer_singer", tol=1e-2), IRIS, None),
    "perceptron": (KernelPerceptron(random_state=0), TWO, lambda m: m.n_iter_),
    "voting perceptron": (KernelPerceptron(variant="voted", random_state=0), IRIS, lambda m: m.n_iter_),
}
SEVERAL_PROBLEMS = ("ridge of two penalties", "relevance of classes", "linear of classes")
every_machine = pytest.mark.parametrize("name", CASES)

pytestmark = [pytest.mark.needs_compiler, pytest.mark.filterwarnings("ignore:MAX_ITER")]


class Listener:
    """Keeps the half-trained machines with what they predicted when they were handed over; stops when told to."""

    def __init__(self, patience=np.inf):
        self.patience = patience
        self.begun = 0
        self.machines = []
        self.predicted = []
        self.torn_down = False

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        self.begun += 1

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.machines.append(fitted_estimator)
        self.predicted.append(None if fitted_estimator is None else values(fitted_estimator, X))
        return len(self.machines) == self.patience  # once: what was asked for holds for all problems

    def teardown(self, estimator, context):
        self.torn_down = True


def values(machine, X):
    return machine.decision_function(X) if is_classifier(machine) else machine.predict(X)


def fitted(name, *callbacks):
    machine, (X, y), _ = CASES[name]
    return clone(machine).set_callbacks(*callbacks).fit(X, y), X, y


@every_machine
def test_every_step_is_reported_with_a_machine_that_predicts(name):
    listener = Listener()
    machine, X, y = fitted(name, listener)
    *half, whole = listener.machines
    assert listener.begun == len(listener.machines) and listener.torn_down
    plain, _, _ = fitted(name)
    np.testing.assert_array_equal(values(machine, X), values(plain, X))  # looking on changes nothing
    np.testing.assert_array_equal(values(whole, X), values(machine, X))
    if CASES[name][2] is not None:
        assert len(half) == CASES[name][2](machine)
    assert len(half) >= 2
    for each, before in zip(half, listener.predicted, strict=False):
        np.testing.assert_array_equal(values(each, X), before)  # later steps leave it as it was
    scale = np.abs(values(machine, X)).max()
    assert np.abs(values(half[-1], X) - values(machine, X)).max() < 0.05 * scale


@every_machine
def test_scores_rise_from_the_first_step_to_the_last(name):
    machine, (X, y), _ = CASES[name]
    scoring = "accuracy" if is_classifier(machine) else "r2"
    monitor = callback.ScoringMonitor(scoring=scoring)
    fitted(name, monitor)
    whole, *steps = [row[scoring] for row in monitor.get_logs().data]
    assert np.isfinite(steps).all() and len(steps) >= 2
    assert steps[-1] == pytest.approx(whole, abs=0.02) and whole > 0.85
    assert steps[0] <= whole + 0.02 and max(steps) <= whole + 0.03


@every_machine
def test_a_callback_can_stop_the_fit(name):
    listener = Listener(patience=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it was asked for: nothing to warn of
        machine, X, y = fitted(name, listener)
    n_steps = len(listener.machines) - 1
    assert n_steps == 2
    if hasattr(machine, "status_"):
        assert machine.status_ is Status.STOPPED
    if hasattr(machine, "certificate_"):
        assert not machine.certificate_.holds and np.isfinite(machine.certificate_.gap)
        assert machine.certificate_.status is Status.STOPPED
    if name not in SEVERAL_PROBLEMS:  # of which those after the first make one step yet
        np.testing.assert_allclose(values(machine, X), listener.predicted[1], rtol=1e-9, atol=1e-12)
    assert np.isfinite(values(machine, X)).all()
    whole, _, _ = fitted(name)
    assert np.abs(values(machine, X) - values(whole, X)).max() > 0.0


@pytest.mark.parametrize(
    "machine", [KernelRidge(0.1), LSSVR(), GaussianProcessRegressor(alpha=0.1, optimizer=None)], ids=str
)
def test_a_factor_is_a_fit_without_steps(machine):
    listener = Listener()
    machine.set_callbacks(listener).fit(*NUMBERS)
    assert listener.begun == len(listener.machines) == 1
    np.testing.assert_array_equal(listener.predicted[0], machine.predict(NUMBERS[0]))


def test_parameters_of_a_process_are_steps_and_the_best_so_far_is_taken():
    X, y = NUMBERS
    process = GaussianProcessRegressor(1.0 * Gaussian(0.2), alpha=0.1)
    found = {}
    for patience in (3, np.inf):
        listener = Listener(patience)
        found[patience] = clone(process).set_callbacks(listener).fit(X, y)
        assert listener.machines[:-1] == [None] * (len(listener.machines) - 1)
        assert len(listener.machines) == 4 if patience == 3 else len(listener.machines) > 4
    start = clone(process).set_params(optimizer=None).fit(X, y)
    assert found[3].status_ is Status.STOPPED and found[np.inf].status_ is Status.OPTIMAL
    assert found[3].certificate_.holds  # the system of the parameters found is solved as ever
    likelihoods = [m.log_marginal_likelihood_value_ for m in (start, found[3], found[np.inf])]
    assert likelihoods[0] < likelihoods[1] < likelihoods[2]


def test_the_wide_path_of_linear_machines_stops_too():
    """Passes of coordinate descent before Newton: the second method must not go on where the first was stopped."""
    X, y = make_classification(400, 300, n_informative=20, random_state=0)
    for parameters in ({"loss": "squared_hinge"}, {"loss": "hinge", "C": 10.0}):
        listener = Listener(patience=1)
        machine = LinearSVC(**parameters).set_callbacks(listener).fit(X, y)
        assert machine.status_ is Status.STOPPED and len(listener.machines) == 2
        assert not machine.certificate_.holds and machine.certificate_.gap < 1.0


def test_an_interrupt_in_the_passes_of_the_wide_path_ends_the_fit(monkeypatch):
    """Newton's method used to go on after it, as if nothing had been asked."""
    X, y = make_classification(400, 300, n_informative=20, random_state=0)
    calls = []

    def press_once(self, *report):
        calls.append(report)
        if len(calls) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(LinearRun, "report", press_once)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        machine = LinearSVC(on_interrupt="keep").fit(X, y)
    assert machine.status_ is Status.INTERRUPTED and len(calls) == 1


def test_classes_on_several_threads_report_and_stop_together():
    X, y = make_classification(3000, 20, n_informative=8, n_classes=4, random_state=0)
    listener = Listener()
    machine = LinearSVC(n_jobs=2).set_callbacks(listener).fit(X, y)
    assert listener.begun == len(listener.machines) >= 1 + 4 * 2
    assert {len(each.coef_) for each in listener.machines} == {4}
    np.testing.assert_array_equal(listener.predicted[-1], machine.decision_function(X))
    listener = Listener(patience=3)
    machine.set_callbacks(listener).fit(X, y)
    assert 3 + 1 <= len(listener.machines) <= 3 + 2  # the other thread may be in the middle of a step
    assert machine.status_ is Status.STOPPED
    assert np.isfinite([certificate.gap for certificate in machine.certificates_]).all()


def test_the_progress_bar_of_scikit_learn_in_a_search(capsys):
    for name, parameters in (("ridge", {"alpha": [0.1, 1.0]}), ("linear", {"C": [0.1, 1.0]})):
        machine, (X, y), _ = CASES[name]
        search = GridSearchCV(clone(machine), parameters, cv=2)
        search.set_callbacks(callback.ProgressBar(max_propagation_depth=2)).fit(X, y)
        assert search.best_score_ > 0.8


def test_sample_weights_reach_the_scorer_and_one_weight_for_all_does_not_disturb():
    X, y = NUMBERS
    for weight in (np.linspace(0.5, 1.5, len(y)), 2.0):
        monitor = callback.ScoringMonitor(scoring="r2")
        machine = KernelRidge(0.1, kernel="rbf").set_callbacks(monitor).fit(X, y, sample_weight=weight)
        score = machine.score(X, y, sample_weight=weight if np.ndim(weight) else None)
        assert monitor.get_logs().data[0]["r2"] == pytest.approx(score)


def test_notebooks_show_the_certificates():
    for name in ("ridge", "least squares of classes", "process", "linear of classes", "linear of numbers"):
        assert "<strong>certified</strong>" in fitted(name)[0]._repr_html_()
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        assert "<strong>not certified</strong>" in LinearSVR(max_iter=1).fit(*NUMBERS)._repr_html_()
