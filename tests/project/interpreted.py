"""For `make cover`: the suite with compiled functions run as plain Python, each test for at most half a second.

Coverage cannot look into compiled functions. As plain Python they are some hundred times slower, so a test that takes
too long is cut off and counted as skipped: the lines it ran until then count as covered all the same. A test that was
cut off twice is left out with its other parameters, which run the same lines. Whether results are right is the business
of `make test`.
"""

import os
import signal
import sys
from collections import Counter
from contextlib import contextmanager

import coverage
import pytest

from widemargin.parallel import tiles as threads

SECONDS = float(os.environ.get("SECONDS_PER_TEST", "0.5"))
CUTS = 2  # per test function
AGAIN = 0.2  # seconds after which a cut is tried again that came at a bad moment or was swallowed
COVERAGE = os.path.dirname(coverage.__file__)
CALLS_BACK = 12  # frames searched for coverage at work; at the far end of the stack stands the one that runs pytest

_cuts: Counter[str] = Counter()


def pytest_configure(config):
    # a cut in the middle of __del__ or of a callback is swallowed by the interpreter with this warning, and comes again
    config.addinivalue_line("filterwarnings", "ignore::pytest.PytestUnraisableExceptionWarning")
    threads.available_cores = lambda: 1  # a cut-off test should not leave a thread behind that goes on as plain Python


def coverage_at_work(frame):
    """Whether the running line is one of coverage's own: cut off there, it would keep its lock for ever."""
    for _ in range(CALLS_BACK):
        if frame is None:
            return False
        if frame.f_code.co_filename.startswith(COVERAGE):
            return True
        frame = frame.f_back
    return False


@contextmanager
def limited(name):
    """Skip the running test when its time is over, and at once when it was cut off before."""
    if _cuts[name] >= CUTS:
        pytest.skip("cut off with other parameters")

    tried = []

    def give_up(_, frame):
        if not coverage_at_work(frame):
            tried.append(frame.f_lineno)
            pytest.skip(f"more than {SECONDS:g} s as plain Python")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, SECONDS, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        _cuts[name] += bool(tried)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    with limited(item.nodeid.partition("[")[0]):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    with limited(item.nodeid.partition("[")[0]):
        return (yield)


_status = [0]


def pytest_sessionfinish(exitstatus):
    _status[0] = int(exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure():
    """Save what was covered and end at once: threads of cut-off tests would hold up the report for ever."""
    measured = coverage.Coverage.current()
    if measured is not None:
        measured.stop()
        measured.save()
        sys.stdout.flush()
        os._exit(_status[0])
