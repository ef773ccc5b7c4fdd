"""The short way to the certificate of a pair says what the general one says, or nothing."""

import dataclasses

import numpy as np
import pytest

from widemargin.certificate import certify_function
from widemargin.gram.memory import ThreadMemory
from widemargin.gram.pair import ClassRows, PairGram
from widemargin.kernels import Gaussian
from widemargin.pair_certificate import certify_pair
from widemargin.problems import hinge, nu_classification
from widemargin.solvers.begin import solve_blocks
from widemargin.stopping import Stopping

STOP = Stopping(tol=1e-3)


@pytest.fixture(params=[np.float32, np.float64])
def solved(request, rng):
    """A pair of classes: dual, Gram, solution, kernel matrix, bound on the rounding of its rows."""
    X = rng.normal(size=(160, 5))
    X[:70] += 0.8
    kernel = Gaussian(0.3)
    samples = kernel.prepare(X, request.param)
    first, second = (ClassRows(kernel, samples.take(part), request.param) for part in np.split(np.arange(160), [70]))
    gram = PairGram(kernel, first, second, ThreadMemory())
    dual = hinge(np.where(np.arange(160) < 70, 1.0, -1.0), np.full(160, 3.0))
    return dual, gram, solve_blocks(dual, gram, STOP), kernel(X), gram.rounding


def unknown(function, proven, violation):
    """Nobody knows better than what is proven."""
    return


def test_it_is_the_general_certificate(solved):
    dual, gram, solution, K, rounding = solved
    certificate, function = certify_pair(dual, gram, solution, STOP, unknown)
    np.testing.assert_allclose(function, K @ solution.beta, atol=1e-4 if rounding else 1e-12)
    general = certify_function(dual, solution.beta, K @ solution.beta, 1e-3, solution=solution)
    assert certificate.holds
    allowed = 2.0 * rounding * np.abs(solution.beta).sum() + (1e-5 if rounding else 1e-12)
    assert general.violation - 1e-12 <= certificate.violation <= general.violation + allowed
    for name in ("primal", "dual", "infeasibility", "level"):
        assert getattr(certificate, name) == pytest.approx(getattr(general, name), rel=1e-5, abs=1e-9)
    for name in ("status", "n_support", "n_free", "iterations", "rows_computed", "criterion", "tol"):
        assert getattr(certificate, name) == getattr(general, name)
    assert certificate.gap == pytest.approx(general.gap, abs=1e-5)


def test_it_is_silent_where_the_outcome_is_not_certain(solved):
    dual, gram, solution, _, rounding = solved
    assert certify_pair(dual, gram, solution, Stopping(tol=1e-9), unknown) is None
    assert certify_pair(dual, gram, solution, Stopping(criterion="gap"), unknown) is None
    moved = dataclasses.replace(solution, beta=solution.beta * np.linspace(0.5, 1.0, 160))
    assert certify_pair(dual, gram, moved, STOP, unknown) is None


def test_where_proofs_are_not_enough_errors_are_measured(solved, monkeypatch):
    dual, gram, solution, _, _ = solved
    monkeypatch.setattr(PairGram, "rounding", 1.0)
    assert certify_pair(dual, gram, solution, STOP, unknown) is None
    sure, _ = certify_pair(dual, gram, solution, STOP, lambda function, proven, violation: (function, 0.0))
    less_sure, _ = certify_pair(dual, gram, solution, STOP, lambda function, proven, violation: (function, 1e-5))
    assert less_sure.violation == pytest.approx(sure.violation + 2e-5, rel=1e-9)
    assert certify_pair(dual, gram, solution, STOP, lambda function, proven, violation: (function, 1.0)) is None


def test_a_function_that_was_mended_is_the_one_certified(solved, monkeypatch):
    dual, gram, solution, K, _ = solved
    monkeypatch.setattr(PairGram, "rounding", 1.0)
    mended = K @ solution.beta
    certificate, function = certify_pair(dual, gram, solution, STOP, lambda function, proven, violation: (mended, 0.0))
    assert function is mended
    general = certify_function(dual, solution.beta, mended, 1e-3, solution=solution)
    assert certificate.violation == pytest.approx(general.violation, rel=1e-12)
    assert certificate.drift == pytest.approx(general.drift, abs=1e-12)


def test_it_is_silent_where_a_row_is_missing(solved):
    dual, gram, solution, _, rounding = solved
    without = PairGram(gram.kernel, gram.first, gram.second, ThreadMemory())
    assert certify_pair(dual, without, solution, STOP, unknown) is None


def test_two_groups(solved):
    dual, gram, _, K, rounding = solved
    sign = np.where(np.arange(160) < 70, 1.0, -1.0)
    dual = nu_classification(sign, 0.3, np.ones(160))
    fresh = PairGram(gram.kernel, gram.first, gram.second, ThreadMemory())
    solution = solve_blocks(dual, fresh, STOP)
    certificate, _ = certify_pair(dual, fresh, solution, STOP, unknown)
    general = certify_function(dual, solution.beta, K @ solution.beta, 1e-3, solution=solution)
    assert certificate.level == pytest.approx(general.level, abs=1e-4)
    assert certificate.primal == pytest.approx(general.primal, rel=1e-5)
