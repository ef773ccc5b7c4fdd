"""scikit-learn's callbacks, the history and the progress bar: who is told what during a fit."""

import io
import re

import numpy as np
import pytest
from rich.console import Console
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.model_selection import GridSearchCV

from tests.small_blocks import solve_in_small_blocks
from widemargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, Status
from widemargin.monitor.progress import ProgressBar

pytestmark = pytest.mark.needs_compiler

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn < 1.9 has no callbacks")

MACHINES = [SVC(), NuSVC(nu=0.3), SVR(), NuSVR(), OneClassSVM()]


class Listener:
    """Counts tasks, keeps the half-trained machines, and stops after `patience` steps."""

    def __init__(self, patience=None):
        self.patience = patience
        self.begun = self.ended = 0
        self.machines = []
        self.torn_down = False

    def setup(self, estimator, context):
        self.root = context

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None):
        assert len(X) == len(y) if y is not None else len(X) > 0
        self.begun += 1

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None, metadata=None):
        self.ended += 1
        self.machines.append(fitted_estimator)
        return self.patience is not None and len(self.machines) >= self.patience

    def teardown(self, estimator, context):
        self.torn_down = True


@pytest.fixture
def in_rounds(monkeypatch):
    """Small blocks, so that problems of test size take several rounds."""
    solve_in_small_blocks(monkeypatch, single=20)


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_every_machine_reports(machine):
    X, y = load_iris(return_X_y=True)
    listener = Listener()
    plain = type(machine)(**machine.get_params()).fit(X, y)
    machine.set_callbacks(listener).fit(X, y)
    assert listener.begun == listener.ended >= 2 and listener.torn_down
    assert machine.predict(X).tolist() == plain.predict(X).tolist() == listener.machines[-1].predict(X).tolist()


def test_half_trained_machines_get_better(in_rounds):
    X, y = make_classification(300, 5, flip_y=0.05, random_state=0)
    listener = Listener()
    machine = SVC(C=10.0).set_callbacks(listener).fit(X, y)
    losses = []
    for each in listener.machines:
        margin = np.where(y == 1, 1, -1) * each.decision_function(X)
        losses.append(np.maximum(0.0, 1.0 - margin).mean())
    assert len(losses) > 5 and losses[-1] < 0.6 * losses[0]
    np.testing.assert_array_equal(listener.machines[-1].decision_function(X), machine.decision_function(X))
    assert len({len(each.support_) for each in listener.machines}) > 3


def test_a_callback_can_stop_the_fit(in_rounds):
    X, y = make_classification(300, 5, flip_y=0.1, random_state=0)
    machine = SVC(C=10.0).set_callbacks(Listener(patience=3)).fit(X, y)  # no warning: it was asked for
    assert machine.status_ is Status.STOPPED and machine.fit_status_ == 1
    assert not machine.certificate_.holds and np.isfinite(machine.certificate_.gap)
    machine.set_callbacks().resume(X, y)
    assert machine.certificate_.holds


def test_linear_kernels_without_a_kernel_matrix_report_too():
    X, y = make_classification(1500, 8, flip_y=0.1, random_state=0)
    listener = Listener()
    machine = SVC(kernel="linear").set_callbacks(listener).fit(X, y)
    assert machine.certificate_.rows_computed == 0  # the path of linear machines
    assert listener.begun == listener.ended >= 3
    losses = [
        np.maximum(0.0, 1.0 - np.where(y == 1, 1, -1) * each.decision_function(X)).mean() for each in listener.machines
    ]
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(listener.machines[-1].decision_function(X), machine.decision_function(X), atol=1e-6)
    stopped = SVC(kernel="linear").set_callbacks(Listener(patience=2)).fit(X, y)
    assert stopped.status_ is Status.STOPPED
    assert np.isfinite(stopped.decision_function(X)).all()


def test_scoring_monitor_on_many_classes():
    X, y = load_iris(return_X_y=True)
    monitor = callback.ScoringMonitor(scoring="accuracy")
    SVC().set_callbacks(monitor).fit(X, y)
    scores = [row["accuracy"] for row in monitor.get_logs().data if "accuracy" in row]
    whole, *pairs = scores
    assert len(pairs) == 3 and pairs[0] < pairs[-1] == whole and whole > 0.95


def test_progress_bar_of_scikit_learn_and_search(capsys):
    X, y = make_regression(60, 3, random_state=0)
    SVR().set_callbacks(callback.ProgressBar()).fit(X, y)
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(SVC(), {"C": [1.0, 10.0]}, cv=2).set_callbacks(callback.ProgressBar(max_propagation_depth=2))
    assert search.fit(X, y).best_score_ > 0.9


def test_history_is_a_table(in_rounds):
    X, y = make_classification(200, 5, flip_y=0.1, random_state=0)
    machine = SVC(C=10.0, trace=True).fit(X, y)
    history = machine.history_
    lengths = {len(column) for column in history.values()}
    assert len(lengths) == 1 and lengths.pop() > 3
    assert set(history) >= {"problem", "iterations", "seconds", "objective", "gap", "violation", "n_support"}
    assert np.all(np.diff(history["objective"]) <= 1e-9) and np.all(np.diff(history["iterations"]) >= 0)
    assert history["objective"][-1] == pytest.approx(-machine.certificate_.dual, rel=1e-9)
    assert history["violation"][-1] <= machine.tol and history["gap"][-1] < history["gap"][0]
    assert not hasattr(SVC().fit(X, y), "history_")


def test_history_of_many_classes_names_the_problems():
    X, y = load_iris(return_X_y=True)
    assert set(SVC(trace=True).fit(X, y).history_["problem"]) == {0, 1, 2}


def test_the_bar_says_objective_gap_rows_and_what_is_left(in_rounds, monkeypatch):
    from widemargin.monitor import progress

    console = Console(file=io.StringIO(), force_terminal=False, width=200)
    monkeypatch.setattr(progress, "ProgressBar", lambda label, always: ProgressBar(label, always=True, console=console))
    monkeypatch.setattr("widemargin.monitor.progress.SECONDS_PER_LINE", 0.0)
    X, y = make_classification(200, 5, flip_y=0.1, random_state=0)
    SVC(C=10.0, verbose=True).fit(X, y)
    lines = console.file.getvalue().splitlines()
    for word in ("SVC", "violation", "objective", "gap", "rows", "SV"):
        assert word in lines[len(lines) // 2]
    assert any("s to go" in line for line in lines)
    assert lines[-1].startswith("SVC 100%")


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_the_bar_shows_the_objective_of_the_certificate(machine, in_rounds, monkeypatch):
    from widemargin.monitor import progress

    console = Console(file=io.StringIO(), force_terminal=False, width=200)
    monkeypatch.setattr(progress, "ProgressBar", lambda label, always: ProgressBar(label, always=True, console=console))
    monkeypatch.setattr("widemargin.monitor.progress.SECONDS_PER_LINE", 0.0)
    X, y = make_classification(200, 5, flip_y=0.1, random_state=0)
    fitted = clone(machine).set_params(verbose=True, tol=1e-6).fit(X, y)
    shown = float(re.findall(r"objective (\S+)", console.file.getvalue())[-1])
    assert shown == pytest.approx(fitted.certificate_.objective, rel=1e-3)


def test_quiet_by_default(capfd):
    X, y = load_iris(return_X_y=True)
    SVC().fit(X, y)
    assert capfd.readouterr() == ("", "")
