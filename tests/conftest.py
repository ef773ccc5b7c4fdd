"""What all tests share: how hypothesis searches, where random numbers come from, and that Ctrl-C arrives.

HYPOTHESIS_PROFILE=search tries more and fresh random examples; the default repeats the same ones, so that a failure on
one machine is a failure everywhere.
"""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

SLOW_FIRST_CALL = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]  # the first example compiles

settings.register_profile("ci", deadline=None, max_examples=20, derandomize=True, suppress_health_check=SLOW_FIRST_CALL)
settings.register_profile("search", deadline=None, max_examples=200, suppress_health_check=SLOW_FIRST_CALL)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_arrives() -> Iterator[None]:
    """Ctrl-C as in a foreground job, here and in the processes tests start.

    Jobs in the background of a script (`make test &`) and on some CI machines are started with SIGINT ignored. Python
    and the library leave it at that, as they should, and tests that press Ctrl-C would wait in vain.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def compile_at_once() -> None:
    """Compile functions at their first call: what a test compiles must not depend on the tests before it."""
    from widemargin import _jit

    _jit.compile_at_once()


@pytest.fixture
def array_api(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let scikit-learn's checks switch `array_api_dispatch` on; without this variable they skip themselves."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


@pytest.fixture
def rng() -> np.random.Generator:
    """A seeded source of random numbers, new for every test."""
    return np.random.default_rng(20240517)


@pytest.fixture(scope="session")
def iris() -> tuple[np.ndarray, np.ndarray]:
    """150 flowers of three species, by four lengths."""
    from sklearn.datasets import load_iris

    return load_iris(return_X_y=True)


@pytest.fixture(scope="session")
def compiled() -> None:
    """Compile what tests with short time limits use, so that they time the solver and not the compiler."""
    from widemargin.kernels import Gaussian, Linear, Polynomial
    from widemargin.monitor.stopping import Stopping
    from widemargin.problems import hinge
    from widemargin.training.fit import Training
    from widemargin.training.task import Task

    source = np.random.default_rng(0)
    X, y = source.normal(size=(30, 3)), np.tile([1.0, -1.0], 15)
    for kernel in (Linear(), Gaussian(1.0), Polynomial()):
        for dual in (hinge(y, np.ones(30)), replace(hinge(y, np.ones(30)), n_groups=0)):
            for criterion in ("kkt", "gap"):
                Training(kernel, X).train([Task(dual)], Stopping(tol=1e-6, criterion=criterion))
