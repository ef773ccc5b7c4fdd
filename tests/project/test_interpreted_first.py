"""A first fit interprets functions that take longer to compile: same bits, and only while that is cheap."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from widemargin import _jit

pytestmark = [pytest.mark.needs_compiler, pytest.mark.slow]  # processes with nothing compiled

FITS = """
import dataclasses, json, sys, warnings
import numpy as np
from widemargin import SVC, SVR, NuSVC, _jit
from widemargin.certificate.in_memory import certify_point
from widemargin.solvers.in_memory.rounds import solve_rounds
warnings.simplefilter("ignore")
if sys.argv[1] == "compile":
    _jit.compile_at_once()
rng = np.random.default_rng(3)
X = rng.normal(size=(150, 4))
y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=150)
weight = rng.random(150)
answers = []
for model, target in (
    (SVC(C=3.0), y > 0), (SVC(C=30.0, loss="squared_hinge"), y > 0), (SVR(C=5.0), y), (NuSVC(nu=0.3), y > 0)
):
    if sys.argv[1] == "interpret":
        _jit._InterpretedFirst.is_allowed = True  # as in a new process
    certificate = model.fit(X, target, weight).certificate_
    assert not _jit._InterpretedFirst.is_allowed, "a second fit compiles"
    facts = {name: repr(value) for name, value in dataclasses.asdict(certificate).items() if name != "seconds"}
    answers.append([model.dual_coef_.tobytes().hex(), model.intercept_.tobytes().hex(), facts])
compiled = [len(f.overloads) for f in (certify_point, solve_rounds)]
print(json.dumps([compiled, answers]))
"""


def run(mode, cache):
    env = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, "-c", FITS, mode], env=env, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_interpreted_and_compiled_functions_give_the_same_bits(tmp_path):
    compiled, answers = run("interpret", tmp_path / "empty")
    assert compiled == [0, 0]
    assert run("compile", tmp_path / "full") == [[1, 1], answers]
    assert run("interpret", tmp_path / "full") == [[1, 1], answers]  # what is on disk is used from the first call on


@pytest.fixture
def total(monkeypatch):
    monkeypatch.setattr(_jit._InterpretedFirst, "is_allowed", True)

    @_jit.jit(interpret_first=lambda values, *rest: values[0] >= 0.0, cache=False)
    def total(values, pair):
        found = 0.0
        for value in values:
            found += value / pair[0]
        return found

    return total


@pytest.mark.parametrize(("first", "n", "is_compiled"), [(1.0, 60, False), (-1.0, 60, True), (1.0, 6001, True)])
def test_long_arrays_and_other_arguments_are_compiled_for_at_once(total, first, n, is_compiled):
    assert total(np.full(n, first), (1.0, 2)) == n * first
    assert bool(total.overloads) is is_compiled


def test_a_second_fit_compiles(total):
    for n_fits in range(2):
        with np.errstate(all="raise"), _jit.first_fit(50):  # interpreted like compiled: 1 / 0 is infinite, silently
            assert total(np.full(50, 1.0), (np.float64(0.0), np.zeros(20))) == np.inf
        assert bool(total.overloads) is (n_fits == 1)


def test_a_large_first_fit_compiles(total):
    with _jit.first_fit(6001):
        assert total(np.full(50, 1.0), (1.0, 2)) == 50.0
    assert total.overloads
