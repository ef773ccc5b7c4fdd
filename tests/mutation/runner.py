"""Plugin of pytest that runs the tests once for each change of the code, in a process of its own.

Compiled functions run as plain Python (NUMBA_DISABLE_JIT=1), so that a change is made by replacing the code of the
function object, without importing anything again. A first run notes which functions each test calls and how long it
takes; a change is then shown to the tests that call its function, the fastest first, until one fails.
"""

from __future__ import annotations

import gc
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from tests.mutation.changes import Change, changes_of
from tests.mutation.equivalent import EQUIVALENT
from widemargin.parallel import tiles as threads

LONGEST_TEST = 0.5  # CPU seconds; longer tests are left out
SLOWER = 10.0  # a test that takes so many times its time with a change, and a second, hangs: the change is noticed
Key = tuple[str, str]  # file, function


class CutOff(BaseException):
    """A test took too long."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mutation")
    group.addoption("--mutate", action="append", default=[], help="a file to change; may be given several times")
    group.addoption("--minutes", type=float, default=30.0, help="time in all; what is left is counted and left out")
    group.addoption("--budget", type=float, default=20.0, help="CPU seconds of tests per change")


def pytest_configure() -> None:
    threads.available_cores = lambda: 1  # no threads: a process with threads cannot be forked safely


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """Record, then try each change; changes in random order, so that what fits in the time is a fair sample."""
    end = time.monotonic() + 60.0 * session.config.option.minutes
    calls = in_process(lambda: record(session.items))
    print(f"\n{len(calls)} of {len(session.items)} tests are fast enough and pass", flush=True)
    work = [(path, change) for path in session.config.option.mutate for change in changes_of_file(path)]
    random.Random(0).shuffle(work)
    counts = {"killed": 0, "survived": 0, "equivalent": 0, "without a test": 0}
    for done, (path, change) in enumerate(work):
        if time.monotonic() > end:
            print(f"time is over: {len(work) - done} of {len(work)} changes were not tried", flush=True)
            break
        verdict = outcome(session, path, change, calls)
        counts[verdict] += 1
        if verdict not in ("killed", "equivalent"):
            place = f"{path}:{change.line} {change.function}"
            print(f"{verdict}: {place}: {change.before}  ->  {change.after}", flush=True)
    print(", ".join(f"{name} {count}" for name, count in counts.items()), flush=True)
    session.testsfailed = counts["survived"] + counts["without a test"]
    return True


def changes_of_file(path: str) -> Iterator[Change]:
    return changes_of(path, Path(path).read_text("utf-8"))


def outcome(session: pytest.Session, path: str, change: Change, calls: dict[int, Any]) -> str:
    """Try one change: killed, survived, equivalent (as listed), or without a test that calls the function."""
    if (Path(path).name, change.function, change.before, change.after) in EQUIVALENT:
        return "equivalent"
    file = os.path.abspath(path)
    tests = [(seconds, number) for number, (seconds, seen) in calls.items() if [file, change.function] in seen]
    if not tests:
        return "without a test"
    killed = in_process(lambda: is_noticed(session, file, change, sorted(tests)), lost=True)
    return "killed" if killed else "survived"


def in_process(work: Callable[[], Any], lost: Any = None) -> Any:
    """Run a function in a copy of this process and return its answer; `lost` if the process dies."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1), os.dup2(silence, 2)
        answer = json.dumps(work()).encode()
        with os.fdopen(writer, "wb") as stream:
            stream.write(answer)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        text = stream.read()
    os.waitpid(child, 0)
    if not text and lost is None:
        raise RuntimeError("the recording process died")
    return {int(k): v for k, v in json.loads(text).items()} if text.startswith(b"{") else json.loads(text or "true")


def record(items: list[pytest.Item]) -> dict[int, tuple[float, list[Key]]]:
    """CPU seconds of each test that passes, and the functions of the package that it calls."""
    found = {}
    for number, item in enumerate(items):
        seen: set[Key] = set()

        def note(frame: FrameType, event: str, _: Any, seen: set[Key] = seen) -> None:
            if event == "call" and "widemargin" in frame.f_code.co_filename:
                seen.add((frame.f_code.co_filename, frame.f_code.co_name))

        sys.setprofile(note)
        passed, seconds = run(item, LONGEST_TEST)
        sys.setprofile(None)
        if passed:
            found[number] = (seconds, sorted(seen))
    return found


def run(item: pytest.Item, limit: float) -> tuple[bool, float]:
    """Whether a test passes within some CPU seconds, and how many it takes."""
    start = time.process_time()
    reports = []

    def cut(number: int, frame: Any) -> None:
        raise CutOff

    signal.signal(signal.SIGPROF, cut)
    signal.setitimer(signal.ITIMER_PROF, limit, 0.2)
    try:
        reports = runtestprotocol(item, log=False, nextitem=None)
    except BaseException:  # CutOff outside the test, or inside pytest
        return False, limit
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    return all(report.passed for report in reports), time.process_time() - start


def is_noticed(session: pytest.Session, file: str, change: Change, tests: list[tuple[float, int]]) -> bool:
    """Change the code and run tests until one fails."""
    replace(file, change.code)
    spent = 0.0
    for seconds, number in tests:
        if spent > session.config.option.budget:
            break
        passed, took = run(session.items[number], SLOWER * seconds + 1.0)
        if not passed:
            return True
        spent += took
    return False


def replace(file: str, code: CodeType) -> None:
    """Give every function of a file the code of the changed file."""
    new = {(inner.co_qualname, inner.co_firstlineno): inner for inner in functions_in(code)}
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and function.__code__.co_filename == file:
            key = (function.__code__.co_qualname, function.__code__.co_firstlineno)
            if key in new:
                function.__code__ = new[key]


def functions_in(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from functions_in(constant)
