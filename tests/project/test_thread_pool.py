"""Threads that help: errands are run once or taken back, errors come back, idle helpers sleep."""

import subprocess
import sys
import threading
import time

import pytest

from widemargin.parallel.pool import Helpers
from widemargin.parallel.tiles import run_tiles


@pytest.fixture
def helpers():
    helpers = Helpers()
    helpers.grow(2)
    yield helpers
    helpers._dismiss()
    assert not any(thread.is_alive() for thread in helpers._threads)


def test_every_errand_is_run_once(helpers):
    done = []
    errands = [helpers.send(lambda k=k: done.append(k)) for k in range(500)]
    for errand in errands:
        errand.wait()
    assert sorted(done) == list(range(500))


def test_one_sent_after_the_helpers_went_to_sleep_is_run(helpers):
    for _ in range(3):
        time.sleep(0.05)
        done = threading.Event()
        helpers.send(done.set).wait()
        assert done.is_set()


def test_an_error_is_kept_and_the_helper_lives_on(helpers):
    def fail():
        raise ArithmeticError("no")

    for _ in range(5):
        errand = helpers.send(fail)
        errand.wait()
        assert isinstance(errand.error, ArithmeticError)
    done = threading.Event()
    helpers.send(done.set).wait()
    assert done.is_set()


def test_one_taken_back_is_never_run(helpers):
    release, done = threading.Event(), []
    busy = [helpers.send(lambda: release.wait(10.0)) for _ in range(2)]
    behind = helpers.send(lambda: done.append(1))
    assert behind.take_back()
    release.set()
    for errand in busy:
        errand.wait()
        assert not errand.take_back()
    helpers.send(lambda: None).wait()
    assert done == []


@pytest.mark.alone
def test_idle_helpers_take_no_time(helpers):
    helpers.send(lambda: None).wait()
    time.sleep(0.05)
    before = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - before < 0.15


def test_tiles_on_threads_raise_what_a_tile_raises():
    def tile(number):
        if number == 3:
            raise ArithmeticError("no")

    for _ in range(20):
        with pytest.raises(ArithmeticError):
            run_tiles(tile, 8, 3)


def test_a_process_ends_at_once_after_work_on_threads():
    script = "from widemargin.parallel.tiles import run_tiles\nrun_tiles(lambda k: None, 8, 4)"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
