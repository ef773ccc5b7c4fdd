"""For `make cover`: the suite with compiled functions run as plain Python, each test for at most a second.

Coverage cannot look into compiled functions. As plain Python they are some hundred times slower, so a test that takes
too long is cut off and counted as skipped: the lines it ran until then count as covered all the same. Whether results
are right is the business of `make test`.
"""

import os
import signal
from contextlib import contextmanager

import pytest

SECONDS = float(os.environ.get("SECONDS_PER_TEST", "1"))


@contextmanager
def limited():
    """Skip the running test when its time is over."""

    def give_up(*_):
        pytest.skip(f"more than {SECONDS:g} s as plain Python")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    with limited():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    with limited():
        return (yield)
