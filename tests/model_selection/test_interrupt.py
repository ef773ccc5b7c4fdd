"""Ctrl-C ends a search with KeyboardInterrupt, as in scikit-learn, wherever it comes."""

import os
import signal
import threading

import joblib
import numpy as np
import pytest

from widemargin import SVC
from widemargin.model_selection import GridSearchCV
from widemargin.model_selection.joblib_backend import CollectingBackend
from widemargin.model_selection.one_cell import OpenCell

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sends POSIX signals")

SECONDS = 0.5  # until Ctrl-C is pressed, and between presses: the search takes minutes
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(300, 4)), RNG.integers(0, 2, size=300)


def press() -> None:
    signal.raise_signal(signal.SIGINT)


class PressesWhenForgotten:
    """Python drops an exception that comes in `__del__`."""

    def __del__(self) -> None:
        press()


class Presses:
    """Ctrl-C pressed again and again by another thread, as a person would, until the search ends."""

    def __enter__(self) -> "Presses":
        self.count, self.has_ended = 0, threading.Event()
        self.thread = threading.Thread(target=self._press)
        self.thread.start()
        return self

    def _press(self) -> None:
        while not self.has_ended.wait(SECONDS):
            self.count += 1
            os.kill(os.getpid(), signal.SIGINT)

    def stop(self) -> None:
        self.has_ended.set()
        self.thread.join()

    def __exit__(self, *exception: object) -> None:
        self.stop()


def is_over(search) -> bool:
    """Whether nothing of a search is left: no result, no handler, no configuration of joblib."""
    handler, backend = signal.getsignal(signal.SIGINT), type(joblib.Parallel()._backend).__name__
    return not hasattr(search, "cv_results_") and handler is signal.default_int_handler and backend == "LokyBackend"


# A press while the garbage collector calls Hypothesis is reported to pytest as an exception that nobody got.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_ctrl_c_raises(n_jobs):
    SVC().fit(X, Y)  # compiled by now
    search = GridSearchCV(SVC(), {"C": np.logspace(-2, 3, 300), "gamma": np.logspace(-3, 1, 100)}, n_jobs=n_jobs)
    with Presses() as presses, joblib.parallel_config(backend="threading"):
        try:
            search.fit(X, Y)
            ended = "by itself"
        except KeyboardInterrupt:
            presses.stop()
            ended = "by Ctrl-C"
    assert ended == "by Ctrl-C" and presses.count >= 1
    assert is_over(search)


def test_a_press_that_python_drops_while_tasks_are_collected_ends_the_search(monkeypatch):
    submit, submitted = CollectingBackend.submit, []

    def submit_and_press(self, *arguments, **more):
        submitted.append(1)
        if len(submitted) == 10:
            PressesWhenForgotten()
        return submit(self, *arguments, **more)

    monkeypatch.setattr(CollectingBackend, "submit", submit_and_press)
    monkeypatch.setattr(CollectingBackend, "apply_async", submit_and_press)
    search = GridSearchCV(SVC(), {"C": np.logspace(-2, 3, 30)})
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    assert len(submitted) == 10 and is_over(search)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_press_that_python_drops_while_cells_are_trained_ends_the_search(n_threads, monkeypatch):
    note, solved = OpenCell.note, []

    def note_and_press(self, *arguments):
        solved.append(1)
        if len(solved) == 10:
            PressesWhenForgotten()
        return note(self, *arguments)

    monkeypatch.setattr(OpenCell, "note", note_and_press)
    search = GridSearchCV(SVC(), {"C": np.logspace(-2, 3, 200), "gamma": [0.1, 1.0]}, n_jobs=n_threads)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    assert len(solved) < 1000 and is_over(search)
