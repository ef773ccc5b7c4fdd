"""A process first interprets functions that take longer to compile: same bits, and only while that is cheap."""

import gc
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from numba.core import event

from widemargin import _jit
from widemargin._jit.interpreting import NAME, Interpreting
from widemargin.kernels import Gaussian
from widemargin.kernels.fused_rows import HEIGHT, WIDTH, add_rows, fill_square

pytestmark = [pytest.mark.needs_compiler, pytest.mark.slow]  # processes with nothing compiled

FITS = """
import dataclasses, json, sys, warnings
import numpy as np
from widemargin import SVC, SVR, LinearSVC, NuSVC, _jit
from widemargin.certificate.in_memory import certify_point
from widemargin.solvers.in_memory.rounds import solve_rounds
from widemargin.solvers.linear.responses import line_minimum
warnings.simplefilter("ignore")
if sys.argv[1] == "compile":
    _jit.compile_at_once()
rng = np.random.default_rng(3)
X = rng.normal(size=(150, 4))
y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=150)
weight = rng.random(150)
large = rng.normal(size=(600, 4))
labels = rng.integers(0, 3, 600)  # rows of class pairs, on demand
answers = []
for model, *data in (
    (SVC(C=3.0), X, y > 0, weight), (SVC(C=30.0, loss="squared_hinge"), X, y > 0, weight), (SVR(C=5.0), X, y, weight),
    (NuSVC(nu=0.3), X, y > 0, weight), (SVC(C=3.0, kernel="laplacian"), X, y > 0, weight), (SVC(), large, labels),
):
    certificates = model.fit(*data).certificate_
    facts = [
        {name: repr(value) for name, value in dataclasses.asdict(certificate).items() if name != "seconds"}
        for certificate in getattr(model, "certificates_", [certificates])
    ]
    answers.append([model.dual_coef_.tobytes().hex(), model.intercept_.tobytes().hex(), facts])
linear = LinearSVC().fit(X, y > 0)
answers.append([linear.coef_.tobytes().hex(), linear.intercept_.tobytes().hex()])
compiled = [bool(f.overloads) for f in (certify_point, solve_rounds, line_minimum)]
print(json.dumps([compiled, answers]))
"""


def run(mode, cache):
    env = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, "-c", FITS, mode], env=env, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_interpreted_and_compiled_functions_give_the_same_bits(tmp_path):
    compiled, answers = run("interpret", tmp_path / "empty")
    assert not any(compiled)
    compiled, again = run("compile", tmp_path / "full")
    assert all(compiled)
    assert again == answers
    assert run("interpret", tmp_path / "full") == [compiled, answers]  # what is on disk is used from the first call on


@pytest.fixture
def total(monkeypatch):
    _jit.INTERPRETING.is_affordable()  # reads what earlier processes spent, ...
    monkeypatch.setattr(_jit.INTERPRETING, "before", 0.0)  # ... which is not to decide here
    monkeypatch.setattr(_jit.INTERPRETING, "own", 0.0)

    @_jit.jit(interpret_first=True, cache=False)
    def total(values, pair):
        found = 0.0
        for value in values:
            found += value / pair[0]
        return found

    return total


@pytest.mark.parametrize(("n", "is_compiled"), [(60, False), (_jit.FEW_VARIABLES + 1, True)])
def test_functions_of_long_arrays_are_compiled_at_once(total, n, is_compiled):
    assert total(np.full(n, 1.0), (1.0, 2)) == n
    assert bool(total.overloads) is is_compiled


@pytest.mark.parametrize("is_enabled", [True, False])
def test_no_garbage_is_collected_while_a_function_is_compiled(is_enabled, monkeypatch):
    monkeypatch.setattr(_jit.DiskCache, "load_overload", lambda *given: None)
    monkeypatch.setattr(_jit.DiskCache, "save_overload", lambda *given: None)
    seen = []

    class Compiling(event.Listener):
        def on_start(self, event):
            seen.append(gc.isenabled())

        def on_end(self, event):
            pass

    @_jit.jit
    def double(x):
        return 2 * x

    try:
        gc.enable() if is_enabled else gc.disable()
        with event.install_listener("numba:compile", Compiling()):
            assert double(4.5) == 9.0
        assert seen == [False] and gc.isenabled() is is_enabled
    finally:
        gc.enable()


def test_interpreting_ends_when_it_has_taken_too_long(total, monkeypatch):
    total(np.ones(1), (np.float64(1.0), np.zeros(20)))  # looks for a version on disk
    seconds = iter(np.arange(0.0, 9.0, 0.5))  # half a second per call
    monkeypatch.setattr(_jit.time, "thread_time", lambda: next(seconds))
    for n_calls in range(5):
        with np.errstate(all="raise"):  # interpreted like compiled: 1 / 0 is infinite, silently
            assert total(np.full(50, 1.0), (np.float64(0.0), np.zeros(20))) == np.inf
        assert bool(total.overloads) is (n_calls >= 3)


@pytest.mark.parametrize("fit", [{"n_variables": _jit.FEW_VARIABLES + 1}, {"n_variables": 5, "timed": True}])
def test_large_and_timed_fits_compile(total, fit):
    _jit.prepare_fit(**fit)
    assert total(np.full(50, 1.0), (1.0, 2)) == 50.0
    assert total.overloads


def test_kernel_values_have_the_same_bits():
    X = np.random.default_rng(0).normal(size=(150, 3))
    kernel = Gaussian(0.5)
    samples = kernel.prepare(X, np.float64)
    rows = kernel.fused_rows(samples, samples)
    square, sums, weights, scratch = np.empty((150, 150)), np.zeros(150), X[:, 0].copy(), np.empty((HEIGHT, WIDTH))
    square_in_python, sums_in_python = np.empty((150, 150)), np.zeros(150)
    fill_square(rows.rule, rows.first, square, np.zeros(1, np.int64))
    _jit.interpreted(fill_square)(rows.rule, rows.first, square_in_python, np.zeros(1, np.int64))
    add_rows(rows, weights, sums, scratch, np.zeros(1, np.int64))
    _jit.interpreted(add_rows)(rows, weights, sums_in_python, scratch, np.zeros(1, np.int64))
    assert np.array_equal(square, square_in_python)
    assert np.array_equal(sums, sums_in_python)
    assert np.allclose(sums, weights @ square)


def test_processes_share_a_budget(tmp_path):
    """What earlier processes spent on interpreting counts, until together they have paid for compiling."""
    for earlier in range(4):
        process = Interpreting()
        process.open(tmp_path)
        assert process.before == pytest.approx(1.4 * earlier) and process.is_affordable()
        process.own = 1.4
        process.close()
    last = Interpreting()
    last.open(tmp_path)
    assert not last.is_affordable()


def test_what_another_version_spent_does_not_count(tmp_path):
    (tmp_path / f"{NAME}{'0' * 32}").write_bytes(b"." * 1000)
    (tmp_path / f"{NAME}results.csv").write_text("of the user")
    process = Interpreting()
    process.open(tmp_path)
    assert process.is_affordable()
    process.own = 0.5
    process.close()
    assert sorted(file.stat().st_size for file in tmp_path.iterdir()) == [5, 11]


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links are followed on this system")
def test_a_link_in_place_of_the_record_is_not_followed(tmp_path):
    process = Interpreting()
    process.open(tmp_path)
    other = tmp_path / "other"
    other.touch()
    process.file.symlink_to(other)
    process.own = 0.5
    process.close()
    assert other.stat().st_size == 0


def test_one_that_compiles_adds_nothing(tmp_path):
    process = Interpreting()
    process.open(tmp_path)
    process.own = np.inf
    process.close()
    assert not process.is_affordable() and list(tmp_path.iterdir()) == []


def test_default_arguments_are_refused():
    """A version on disk was compiled for all arguments, and is not found by the types of fewer."""

    def added(x, y=1.0):
        return x + y

    with pytest.raises(TypeError, match="added is interpreted first and cannot have default arguments"):
        _jit.jit(added, interpret_first=True)
    assert _jit.jit(added, cache=False)(1.0) == 2.0
