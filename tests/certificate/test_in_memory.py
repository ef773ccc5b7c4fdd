"""The certificate from rows in memory, in one compiled call, says what the general one says."""

import dataclasses

import numpy as np
import pytest

from widemargin.certificate import certify_function
from widemargin.certificate.certificate import price
from widemargin.certificate.in_memory import certify_rows
from widemargin.gram.class_pair import ClassRows, PairGram
from widemargin.gram.full import FullGram
from widemargin.gram.memory import ThreadMemory
from widemargin.kernels import Gaussian
from widemargin.monitor.stopping import Stopping
from widemargin.problems import hinge, nu_classification
from widemargin.solvers.solve import solve_blocks

STOP = Stopping(tol=0.8e-3)
SIGN = np.where(np.arange(160) < 70, 1.0, -1.0)


@pytest.fixture(params=[np.float32, np.float64])
def pair(request, rng):
    """Rows of two classes on demand, and the samples."""
    X = rng.normal(size=(160, 5))
    X[:70] += 0.8
    kernel = Gaussian(0.3)
    samples = kernel.prepare(X, request.param)
    arrange, errors = kernel.fused_layout(samples)
    parts = np.split(np.arange(160), [70])
    classes = [
        ClassRows(kernel, samples.take(part), np.dtype(request.param), arrange, errors.take(part)) for part in parts
    ]
    return PairGram(*classes, ThreadMemory()), X


@pytest.mark.parametrize("dual", [hinge(SIGN, np.full(160, 3.0)), nu_classification(SIGN, 0.3, np.ones(160))])
@pytest.mark.parametrize("scaling", [1.0, 0.5])
@pytest.mark.parametrize("whole", [True, False])
def test_it_is_the_general_certificate(pair, dual, scaling, whole):
    gram, X = pair
    kernel = gram.first.kernel
    if whole:
        gram = FullGram.of(kernel, kernel.prepare(X, gram.dtype), gram.dtype)
    solution = solve_blocks(dual, gram, STOP)
    solution = dataclasses.replace(solution, beta=solution.beta * np.linspace(scaling, 1.0, 160))
    certificate, scores = certify_rows(dual, gram, solution, 1e-3, True)
    assert (np.abs(scores.values - kernel(X) @ solution.beta) <= scores.error).all()
    general = certify_function(dual, solution.beta, scores, 1e-3, diagonal=1.0)
    general = dataclasses.replace(general, drift=certificate.drift, **price(solution))
    assert certificate.holds == (scaling == 1.0)
    for field in dataclasses.fields(certificate):
        mine, theirs = getattr(certificate, field.name), getattr(general, field.name)
        assert mine == (pytest.approx(theirs, rel=1e-9) if field.name not in ("criterion", "status") else theirs)
    assert certificate.drift == np.abs(scores.values - solution.Kb).max()


def test_rows_that_are_missing_are_evaluated(pair):
    gram, _ = pair
    dual = hinge(SIGN, np.full(160, 3.0))
    solution = solve_blocks(dual, gram, STOP)
    without = PairGram(gram.first, gram.second, ThreadMemory())
    assert certify_rows(dual, without, solution, 1e-3, True)[0].holds
