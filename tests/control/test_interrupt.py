"""Ctrl-C: a flag at the first press, an exception at the second, and the old handler afterwards."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_classification

from widemargin import SVC, NuSVC, Status
from widemargin.kernels import Gaussian
from widemargin.monitor.interrupt import CtrlC, StopSignal
from widemargin.monitor.stopping import Stopping
from widemargin.problems import hinge
from widemargin.training import fit
from widemargin.training.fit import Training
from widemargin.training.task import Task

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")


def press():
    signal.raise_signal(signal.SIGINT)


@pytest.fixture
def problem():
    return make_classification(300, 6, n_informative=5, n_redundant=0, n_classes=3, flip_y=0.2, random_state=0)


def test_first_press_is_a_request_second_an_exception():
    with CtrlC() as ctrl_c:
        press()
        assert ctrl_c.requested.is_set()
        with pytest.raises(KeyboardInterrupt):
            press()
        ctrl_c.presses = 1  # as if the second had not been
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_press_that_a_solver_caught_is_raised_at_the_end():
    with pytest.raises(KeyboardInterrupt), CtrlC():
        press()
        with contextlib.suppress(KeyboardInterrupt):
            press()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_press_inside_numba_is_raised_at_the_end():
    """An exception there crashed the process: Numba's code in C does not expect one."""
    code = {"__name__": "numba.core.serialize", "signal": signal, "after": []}
    with pytest.raises(KeyboardInterrupt), CtrlC():
        press()
        exec("signal.raise_signal(signal.SIGINT); after.append(True)", code)
    assert code["after"] == [True]


def test_a_handler_of_the_users_own_and_other_threads_are_left_alone():
    calls = []
    before = signal.signal(signal.SIGINT, lambda *_: calls.append(1))
    try:
        with CtrlC() as ctrl_c:
            press()
        assert calls == [1] and not ctrl_c.requested.is_set()
    finally:
        signal.signal(signal.SIGINT, before)
    installed = []

    def work():
        with CtrlC():
            installed.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert installed == [signal.default_int_handler]


def test_a_job_told_to_ignore_ctrl_c_ignores_it():
    """As a shell starts `command &` in a script."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with CtrlC() as ctrl_c:
            press()
        assert not ctrl_c.requested.is_set()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.slow
def test_these_tests_pass_in_a_job_told_to_ignore_ctrl_c():
    """Also in a process that a test starts: the handler is not ignored there either."""
    ignoring = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); os.execv(sys.executable, sys.argv[1:])"
    )
    names = ["test_first_press_is_a_request_second_an_exception", "test_two_presses_leave_the_fit"]
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(f"{__file__}::{name}" for name in names)]
    done = subprocess.run([sys.executable, "-c", ignoring, *tests], capture_output=True, text=True, timeout=240)
    assert "2 passed" in done.stdout, done.stdout


@pytest.mark.parametrize("machine", [SVC(C=10.0, on_interrupt="keep"), NuSVC(nu=0.2, on_interrupt="keep")], ids=str)
def test_ctrl_c_before_the_first_step_still_gives_a_machine(machine, problem, monkeypatch):
    """A press while something compiles arrives before the solver: no exception, a machine at its start."""
    X, y = problem
    prepare = Gaussian.prepare

    def pressed(self, *arguments, **more):
        if not ran:
            ran.append(1)
            press()
        return prepare(self, *arguments, **more)

    ran = []
    monkeypatch.setattr(Gaussian, "prepare", pressed)
    with pytest.warns(UserWarning, match=r"interrupted.*resume\(X, y\)"):
        machine.fit(X, y)
    assert machine.status_ is Status.INTERRUPTED and machine.fit_status_ == 1
    assert set(machine.predict(X)) <= {0, 1, 2}
    machine.resume(X, y)
    assert machine.certificate_.holds


def test_the_certificate_after_an_interrupt_is_computed_afresh():
    """A solver that lies about F = K b is found out, also when it was interrupted."""
    X, y = make_classification(80, 4, random_state=0)
    dual = hinge(np.where(y == 1, 1.0, -1.0), np.ones(80))

    def liar(dual, gram, stopping, start=None, function=None, watch=None):
        from widemargin.solvers import solve_blocks

        solution = solve_blocks(dual, gram, Stopping(tol=1e-3, max_iter=5))
        lie = solution.Kb + 1e3 * np.arange(80)
        return replace(solution, status=Status.INTERRUPTED, Kb=lie)

    trained = Training(Gaussian(0.5), X, solver=liar).train([Task(dual)], Stopping())[0]
    honest = Gaussian(0.5)(X) @ trained.solution.beta
    np.testing.assert_allclose(trained.solution.Kb, honest, atol=1e-9)
    assert trained.certificate.drift > 1e4


def test_interrupting_the_certificate_leaves_a_true_one_with_wider_bounds(monkeypatch):
    X, y = make_classification(80, 4, random_state=0)
    dual = hinge(np.where(y == 1, 1.0, -1.0), np.full(80, 1e3))
    training = Training(Gaussian(0.5), X, in_memory=0)

    def impatient(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(training.source, "recomputed", impatient)
    trained = training.train([Task(dual)], Stopping())[0]
    assert trained.solution.status is Status.INTERRUPTED
    certificate, truth = trained.certificate, Gaussian(0.5)(X) @ trained.solution.beta
    assert (np.abs(trained.solution.Kb - truth) <= trained.solution.error).all()
    assert not certificate.holds and np.isnan(certificate.drift)
    assert certificate.computed == pytest.approx(trained.solution.violation)
    assert certificate.violation >= certificate.computed + certificate.rounding


def test_tasks_nobody_waits_for_compute_nothing(problem, monkeypatch):
    """After Ctrl-C, or when the time is over and many have begun, the remaining pairs cost no kernel value."""
    X, y = problem
    monkeypatch.setattr(fit, "MOST_LATE", 0)
    for reason, status in (("cancelled", Status.INTERRUPTED), ("time", Status.TIME_LIMIT)):
        cancelled = StopSignal()
        training = Training(Gaussian(0.5), X, cancelled=cancelled)
        if reason == "cancelled":
            cancelled.set()
        dual = hinge(np.where(y == 1, 1.0, -1.0), np.ones(300))
        rule = Stopping(time_limit=None if reason == "cancelled" else 1e-9)
        trained = training.train([Task(dual)] * 3, rule)
        assert [each.solution.status for each in trained] == [status] * 3
        assert all(each.certificate.rows_computed == 0 and not each.certificate.holds for each in trained)


TWICE = """
import signal
from sklearn.datasets import make_classification
from widemargin import SVC
X, y = make_classification(300, 6, random_state=0)
presses = iter([1, 1])
class Kernel:
    def __call__(self, A, B):
        if next(presses, 0):
            signal.raise_signal(signal.SIGINT)
        return A @ B.T
try:
    SVC(kernel=Kernel()).fit(X, y)
except KeyboardInterrupt:
    print("left")
"""


@pytest.mark.slow
def test_two_presses_leave_the_fit():
    done = subprocess.run([sys.executable, "-c", TWICE], capture_output=True, text=True, timeout=120)
    assert done.stdout == "left\n", done.stderr
