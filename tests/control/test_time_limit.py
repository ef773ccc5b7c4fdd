"""Time limits: compiling is not charged, the certificate is inside the limit, and the warning says if it cannot be."""

import itertools
import os
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_classification
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVC, SVR, KernelRidge, Status
from widemargin._jit import jit
from widemargin.kernels import BlockKernel
from widemargin.monitor import clock
from widemargin.monitor.interrupt import StopRequested
from widemargin.monitor.iteration import Iteration
from widemargin.monitor.stopping import Stopping
from widemargin.monitor.time_limit import EndInTime, overshoot

DIGITS = load_digits(n_class=6, return_X_y=True)
X, Y = make_classification(2500, 10, n_informative=8, n_redundant=0, flip_y=0.2, random_state=0)


@pytest.fixture
def fake_clock(monkeypatch):
    """A clock that only `seconds[0] += ...` moves."""
    seconds = [0.0]
    monkeypatch.setattr(clock, "now", lambda: seconds[0])
    return seconds


def slow_kernel(seconds, per_value):
    """A Gaussian kernel whose values take this many seconds each on a fake clock."""

    def kernel(A, B):
        seconds[0] += per_value * A.shape[0] * B.shape[0]
        return np.exp(-0.1 * np.maximum(((A**2).sum(1)[:, None] + (B**2).sum(1) - 2 * A @ B.T), 0.0))

    return kernel


def test_the_clock_stands_still_while_a_function_is_compiled():
    @jit(cache=False)
    def grow(values):
        for k in range(values.shape[0]):
            values[k] += k
        return values

    began, wall = clock.now(), time.perf_counter()
    grow(np.zeros(3))
    compiled = time.perf_counter() - wall
    assert compiled > 0.01 and clock.now() - began < 0.5 * compiled


def test_a_solver_is_ended_in_time_for_the_certificate(fake_clock):
    watch = EndInTime(Stopping(time_limit=10.0), lambda now: 0.01 * now.n_support, None)
    for second in range(1, 7):
        fake_clock[0] = float(second)
        watch(Iteration(1.0, 1e-3, n_support=300))
    fake_clock[0] = 7.0  # a certificate of 3 s is due now
    with pytest.raises(StopRequested) as ended:
        watch(Iteration(1.0, 1e-3, n_support=300))
    assert ended.value.status is Status.TIME_LIMIT
    with pytest.raises(StopRequested):  # also after a short round
        watch(Iteration(1.0, 1e-3, n_support=0))


def test_a_round_that_would_pass_the_limit_is_not_begun(fake_clock):
    watch = EndInTime(Stopping(time_limit=10.0), lambda now: 0.0, None)
    fake_clock[0] = 3.0
    watch(Iteration(1.0, 1e-3, iterations=1))
    fake_clock[0] = 7.0
    with pytest.raises(StopRequested):
        watch(Iteration(1.0, 1e-3, iterations=2))
    done = EndInTime(Stopping(time_limit=10.0), lambda now: 99.0, None)
    done(Iteration(1e-4, 1e-3))  # an answer that meets the tolerance


def test_what_comes_before_the_first_step_is_not_expected_again(fake_clock):
    watch = EndInTime(Stopping(time_limit=10.0), lambda now: 0.0, None)
    fake_clock[0] = 6.0  # a matrix was computed
    watch(Iteration(1.0, 1e-3))
    fake_clock[0] = 7.0
    watch(Iteration(1.0, 1e-3, iterations=5))


@pytest.mark.parametrize(("solver", "limit"), [("keerthi", 6.0), ("keerthi", 8.0), ("auto", 2.0), ("auto", 6.0)])
def test_a_fit_with_a_slow_kernel_keeps_its_limit(solver, limit, fake_clock):
    """A microsecond for a kernel value: a row takes 2.5 ms, a certificate with all samples 6 s."""
    machine = SVC(kernel=slow_kernel(fake_clock, 1e-6), C=1e3, tol=1e-9, time_limit=limit, n_jobs=1, solver=solver)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        machine.fit(X, Y)
    assert machine.status_ is Status.TIME_LIMIT
    assert 0.3 * limit < fake_clock[0] <= limit + overshoot(limit)


@pytest.mark.parametrize(
    "parameters", [{"gamma": 0.001}, {"kernel": "linear"}, {"kernel": lambda A, B: (A @ B.T / 1000) ** 2}]
)
def test_every_class_pair_makes_first_steps(parameters, monkeypatch):
    seconds = itertools.count()
    monkeypatch.setattr(clock, "now", lambda: float(next(seconds)))  # the limit is over before the first pair
    machine = SVC(C=10, time_limit=0.5, n_jobs=1, **parameters)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        machine.fit(*DIGITS)
    assert machine.status_ is Status.TIME_LIMIT
    assert machine.score(*DIGITS) > 0.97


def test_the_warning_says_if_certifying_alone_takes_longer(fake_clock):
    machine = SVR(kernel=slow_kernel(fake_clock, 1e-6), solver="keerthi", tol=1e-9, max_iter=2000, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine.fit(X, X[:, 0])
    with pytest.warns(ConvergenceWarning, match=r"The certificate alone took .* s, longer than time_limit=0\.1"):
        machine.resume(X, X[:, 0], max_iter=-1, time_limit=0.1)


def test_conjugate_gradients_leave_time_for_the_certificate(fake_clock):
    def machine(limit):
        kernel = BlockKernel(slow_kernel(fake_clock, 1e-6))  # a product takes half of 6 s
        return KernelRidge(kernel=kernel, alpha=1e-6, tol=1e-12, solver="cg", time_limit=limit, cache_size=1)

    with pytest.warns(ConvergenceWarning, match="time limit") as caught:
        machine(60.0).fit(X, X[:, 0])
    assert 20.0 < fake_clock[0] <= 63.0
    assert not any("alone need longer" in str(one.message) for one in caught)
    with pytest.warns(ConvergenceWarning, match="alone need longer than time_limit"):
        machine(6.0).fit(X, X[:, 0])
    fake_clock[0] = 0.0
    with pytest.warns(ConvergenceWarning, match="time limit") as caught:
        ended = machine(1.5).fit(X, X[:, 0])  # within the first product
    assert fake_clock[0] <= 1.5 + 1024**2 * 1e-6  # one tile
    assert not any("alone need longer" in str(one.message) for one in caught)
    assert ended.status_ is Status.TIME_LIMIT
    assert not ended.dual_coef_.any()


COLD = """
import warnings
from sklearn.datasets import make_classification
from widemargin import SVC
X, y = make_classification(600, 10, flip_y=0.1, random_state=0)
with warnings.catch_warnings():
    warnings.simplefilter("error")
    machine = SVC(C=10, time_limit=0.5).fit(X, y)
assert machine.certificate_.seconds < 0.5
"""


@pytest.mark.slow
def test_compiling_is_not_charged(tmp_path):
    """A new process with an empty cache compiles for seconds."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", COLD], env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
