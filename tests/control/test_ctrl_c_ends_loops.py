"""Ctrl-C ends the loop around a fit too: searches, cross-validation, scripts; at a prompt it keeps the model."""

import os
import pickle
import signal
import subprocess
import sys
import time
import warnings

import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import LSSVC, RVC, SVC, KernelLMS, KernelRidge, LinearSVC, Status
from widemargin.kernels import Gaussian
from widemargin.problems.linear import LinearRun

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")

X, Y = make_classification(200, 6, n_informative=5, n_redundant=0, flip_y=0.2, random_state=0)


@pytest.fixture
def presses(monkeypatch):
    """Press Ctrl-C in every fit with a Gaussian kernel, when its samples are prepared; the list counts them."""
    prepare, made = Gaussian.prepare, []

    def pressed(self, *arguments, **more):
        if sys._getframe(1).f_code.co_name == "exact":  # of a fit, not of a prediction
            made.append(1)
            signal.raise_signal(signal.SIGINT)
        return prepare(self, *arguments, **more)

    monkeypatch.setattr(Gaussian, "prepare", pressed)
    return made


@pytest.fixture
def at_a_prompt(monkeypatch):
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)


LOOPS = {
    "cross_val_score": lambda: cross_val_score(SVC(), X, Y, cv=4),
    "search": lambda: GridSearchCV(SVC(), {"C": [1, 10, 100]}, cv=3).fit(X, Y),
    "kept": lambda: GridSearchCV(SVC(on_interrupt="keep"), {"C": [1, 10, 100]}, cv=3).fit(X, Y),
    "pipeline": lambda: GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": [1, 10]}, cv=3).fit(X, Y),
}


@pytest.mark.parametrize("name", LOOPS)
def test_one_press_ends_a_search(name, presses, at_a_prompt):
    """In a notebook too, where a single fit would be kept."""
    with warnings.catch_warnings(), pytest.raises(KeyboardInterrupt):
        warnings.simplefilter("error")
        LOOPS[name]()
    assert len(presses) == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_one_press_ends_a_loop_in_a_script_and_leaves_the_machine_fitted(presses):
    machine, scores = SVC(), []
    with pytest.raises(KeyboardInterrupt):
        for C in (1.0, 10.0, 100.0):
            scores.append(machine.set_params(C=C).fit(X, Y).score(X, Y))
    assert len(presses) == 1 and not scores
    assert machine.status_ is Status.INTERRUPTED and machine.certificate_.status is Status.INTERRUPTED
    assert machine.predict(X).shape == Y.shape


def run_all(cells):
    """Run cells in turn as a notebook does: the first that raises is the last. Returns the names and how many ran."""
    names = {"SVC": SVC, "GridSearchCV": GridSearchCV, "X": X, "y": Y}
    for number, cell in enumerate(cells):
        try:
            exec(cell, names)
        except BaseException:
            return names, number
    return names, len(cells)


def test_a_notebooks_run_all_keeps_a_single_fit_and_stops_at_a_search(presses, at_a_prompt):
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        names, ran = run_all(["machine = SVC().fit(X, y)", "found = machine.predict(X)"])
    assert ran == 2 and names["machine"].status_ is Status.INTERRUPTED
    names, ran = run_all(["search = GridSearchCV(SVC(), {'C': [1, 2]}).fit(X, y)", "best = search.best_params_"])
    assert ran == 0 and len(presses) == 2


def test_on_interrupt_overrides_the_rule_for_what_is_no_clone(presses, monkeypatch):
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        SVC(on_interrupt="keep").fit(X, Y)
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    with pytest.raises(KeyboardInterrupt):
        SVC(on_interrupt="raise").fit(X, Y)
    for cloned in (clone(SVC(on_interrupt="keep")), pickle.loads(pickle.dumps(clone(SVC())))):
        with pytest.raises(KeyboardInterrupt):
            cloned.fit(X, Y)


def test_a_press_too_late_for_the_solver_ends_the_loop_too(monkeypatch):
    expose = SVC._expose

    def pressed(self, *arguments):
        signal.raise_signal(signal.SIGINT)
        expose(self, *arguments)

    monkeypatch.setattr(SVC, "_expose", pressed)
    machine = SVC()
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, Y)
    assert machine.certificate_.holds and machine.predict(X).shape == Y.shape


def test_an_interrupted_resume_keeps_what_it_gained(presses):
    machine = SVC(C=1e3, max_iter=5, on_interrupt="keep")
    with pytest.warns(ConvergenceWarning):
        machine.fit(X, Y)
    del presses[:]
    n_iter = machine.n_iter_.copy()
    with pytest.raises(KeyboardInterrupt):
        machine.set_params(on_interrupt="raise").resume(X, Y, max_iter=-1)
    assert machine.status_ is Status.INTERRUPTED and (machine.n_iter_ >= n_iter).all()


def test_all_classes_of_a_linear_machine_end_at_one_press(monkeypatch):
    X, y = make_classification(600, 30, n_informative=20, n_classes=6, random_state=0)
    report, calls = LinearRun.report, []

    def pressed(self, *arguments):
        calls.append(1)
        if len(calls) == 1:
            signal.raise_signal(signal.SIGINT)
        report(self, *arguments)

    monkeypatch.setattr(LinearRun, "report", pressed)
    machine = LinearSVC(C=100.0, n_jobs=1)
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, y)
    assert len(calls) <= 6 and {each.status for each in machine.certificates_} == {Status.INTERRUPTED}
    assert machine.predict(X).shape == y.shape


@pytest.mark.parametrize(
    "machine",
    [LinearSVC(loss="hinge", C=1e4), KernelLMS(max_iter=5000, tol=1e-9), RVC(),
     KernelRidge(kernel="rbf", alpha=1e-6, solver="cg"), LSSVC(C=1e4, solver="cg")],
    ids=lambda machine: type(machine).__name__,
)  # fmt: skip
def test_every_machine_keeps_or_raises(machine, monkeypatch):
    """The exception comes where the solver reports, as an ordinary Ctrl-C would."""
    watching = type(machine)._watching

    def press(iteration):
        signal.raise_signal(signal.SIGINT)

    def watched(self, *arguments, others=(), **more):
        return watching(self, *arguments, others=[press, *others], **more)

    monkeypatch.setattr(type(machine), "_watching", watched)
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, Y)
    assert machine.status_ is Status.INTERRUPTED and machine.predict(X).shape == Y.shape
    with pytest.warns(ConvergenceWarning, match="(?i)interrupted"):
        machine.set_params(on_interrupt="keep").fit(X, Y)


SEARCH = """
import sys, time
import numpy as np
from joblib import parallel_backend
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from widemargin import SVC

def slow(A, B, path=sys.argv[1]):
    if A.shape == B.shape:
        with open(path, "a") as log:
            log.write("fit\\n")
        time.sleep(1.0)
    return A @ B.T

X, y = make_classification(100, 6, random_state=0)
with parallel_backend(sys.argv[2], n_jobs=2):
    GridSearchCV(SVC(kernel=slow), {"C": np.logspace(-2, 2, 10)}, cv=3).fit(X, y)
"""


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_one_press_ends_a_search_on_several_workers(backend, tmp_path):
    """The terminal sends Ctrl-C to all processes of the command."""
    log = tmp_path / "fits"
    command = [sys.executable, "-c", SEARCH, str(log), backend]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not log.exists():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in said and process.returncode != 0
    assert len(log.read_text().split()) <= 4  # of 31: those running, and one more each
