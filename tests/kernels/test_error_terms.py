"""Stated errors of kernel values, entry by entry, against extended precision, for every way to evaluate them."""

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin._jit import jit
from widemargin.gram.class_pair import ClassRows, PairGram
from widemargin.gram.gram import kernel_scores
from widemargin.gram.memory import ThreadMemory
from widemargin.kernels import ChiSquared, Cosine, Gaussian, Intersection, Laplacian, Linear, Polynomial, Sigmoid
from widemargin.kernels.errors import EXP_ERROR
from widemargin.kernels.exponential import exp_nonpositive

LONG = np.longdouble


def formula(kernel, X):
    """The kernel matrix in extended precision, straight from the definitions."""
    X = X.astype(LONG)
    product = X @ X.T
    difference = X[:, None, :] - X[None, :, :]
    if isinstance(kernel, Gaussian):
        return np.exp(-LONG(kernel.gamma) * (difference**2).sum(axis=2))
    if isinstance(kernel, Laplacian):
        return np.exp(-LONG(kernel.gamma) * np.abs(difference).sum(axis=2))
    if isinstance(kernel, ChiSquared):
        total = X[:, None, :] + X[None, :, :]
        return np.exp(-LONG(kernel.gamma) * (difference**2 / np.where(total > 0, total, 1)).sum(axis=2))
    if isinstance(kernel, Linear):
        return product
    if isinstance(kernel, Polynomial):
        return (LONG(kernel.gamma) * product + LONG(kernel.coef0)) ** kernel.degree
    if isinstance(kernel, Sigmoid):
        return np.tanh(LONG(kernel.gamma) * product + LONG(kernel.coef0))
    if isinstance(kernel, Intersection):
        return np.minimum(X[:, None, :], X[None, :, :]).sum(axis=2)
    length = np.sqrt(np.diagonal(product))
    return product / np.where(length > 0, length, 1)[:, None] / np.where(length > 0, length, 1)


def hostile(kind, rng):
    n = 40
    X = rng.normal(size=(n, {"few": 3, "columns": 20, "more": 60, "many": 150}.get(kind, 30)))
    if kind == "far group":
        X = X[:, :2]
        X[:4] += 700.0
    elif kind == "offset":
        X += 1e6
    elif kind == "heavy tails":
        X = rng.standard_t(1.2, size=X.shape)
    elif kind == "mixed scales":
        X *= np.exp(rng.uniform(-12, 12, size=X.shape[1]))
    elif kind == "one value":
        X[:] = 0.1
        X[::2, ::3] = 0.7
    elif kind == "bits":
        X = (X > 0).astype(float)
    elif kind == "two values":
        X = np.where(X > 0, 0.3, -1.7)
    elif kind in ("sparse", "sparse counts"):
        X[rng.random(X.shape) < 0.8] = 0.0
        X = np.rint(3 * X) if kind == "sparse counts" else X
    elif kind == "subnormal":
        X *= 1e-42
    elif kind == "near duplicates":
        X[1::2] = X[::2] * (1 + 1e-7)
    return X


KINDS = (
    "few", "columns", "more", "many", "far group", "offset", "heavy tails", "mixed scales", "one value", "bits",
    "two values", "sparse", "sparse counts", "subnormal", "near duplicates",
)  # fmt: skip
KERNELS = (
    Gaussian(1.0), Gaussian(0.01), Laplacian(0.2), ChiSquared(0.3), Linear(), Polynomial(3, 0.5, 1.0),
    Polynomial(2, 0.1, 0.0), Sigmoid(0.1, -1.0), Cosine(), Intersection(), Gaussian(0.1) + 0.5 * Linear(),
    Gaussian(0.05) * Polynomial(2, 0.1, 1.0) + 0.25,
)  # fmt: skip


def exact_values(kernel, X):
    if isinstance(kernel, Gaussian | Laplacian | ChiSquared | Linear | Polynomial | Sigmoid | Cosine | Intersection):
        return formula(kernel, X)
    if kernel == KERNELS[-2]:
        return formula(Gaussian(0.1), X) + LONG(0.5) * formula(Linear(), X)
    return formula(Gaussian(0.05), X) * formula(Polynomial(2, 0.1, 1.0), X) + LONG(0.25)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_errors_of_values_and_of_sums_are_within_what_is_stated(kernel, kind, dtype, rng):
    X = hostile(kind, rng)
    if isinstance(kernel, ChiSquared | Intersection):
        X = np.abs(X)
    given = sp.csr_array(X) if kind.startswith("sparse") and not isinstance(kernel, Intersection) else X
    samples = kernel.prepare(given, dtype)
    with np.errstate(all="ignore"):
        values = kernel.block(samples, samples, np.empty((len(X), len(X)), dtype)).astype(LONG)
        truth, terms = exact_values(kernel, X), kernel.errors(samples)
        stated = (terms.left[:, None, :] * terms.right[None, :, :]).sum(axis=2)
    wrong = np.abs(values - truth) > np.where(np.isnan(stated), np.inf, stated)
    assert not wrong[np.isfinite(values)].any()
    assert not np.isfinite(stated[~np.isfinite(values)]).any()  # what overflows is not stated to be right
    if np.isfinite(stated).all():
        assert (np.abs(truth) <= terms.size[:, None] * terms.size * (1 + 1e-12)).all()
    if dtype == np.float64 and np.isfinite(stated).all():
        b = rng.normal(size=len(X)) * np.exp(rng.uniform(-5, 5, size=len(X)))
        scores = kernel_scores(kernel, samples, samples, b)
        assert (np.abs(scores.values - truth @ b.astype(LONG)) <= scores.error).all()


@pytest.mark.parametrize(
    "kernel",
    [Sigmoid(1e135, -1.0), Sigmoid(1e-42, 0.0), Sigmoid(1.0, 1e40), Polynomial(2, 1e39, 0.0), Polynomial(2, 1.0, 1e-41),
     Gaussian(1e39), Gaussian(1e-41), Laplacian(1e40), 1e40 * Gaussian(1.0), Gaussian(1.0) + 1e-42],
    ids=repr,
)  # fmt: skip
def test_parameters_beyond_single_precision_are_not_stated_to_be_right(kernel, rng):
    samples = kernel.prepare(1e-3 * rng.normal(size=(9, 40)), np.float32)
    assert kernel.errors(samples).largest() == np.inf == kernel.rounding(samples)


@pytest.mark.parametrize("kind", ["columns", "more", "many", "mostly zeros", "offset", "heavy tails"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_errors_of_compiled_rows(kind, dtype, rng):
    kernel = Gaussian(0.02)
    X = hostile("many" if kind == "mostly zeros" else kind, rng)
    if kind == "mostly zeros":
        X[rng.random(X.shape) < 0.85] = 0.0
    samples = kernel.prepare(X, dtype)
    arrange, errors = kernel.fused_layout(samples)
    parts = np.split(np.arange(len(X)), [15])
    classes = [ClassRows(kernel, samples.take(part), np.dtype(dtype), arrange, errors.take(part)) for part in parts]
    gram = PairGram(*classes, ThreadMemory())
    values = gram.block(np.arange(len(X))).astype(LONG)
    stated = (gram.errors.left[:, None, :] * gram.errors.right[None, :, :]).sum(axis=2)
    assert (np.abs(values - formula(kernel, X)) <= stated).all()
    b = rng.normal(size=len(X))
    scores = gram.scores(b)
    assert (np.abs(scores.values - formula(kernel, X) @ b.astype(LONG)) <= scores.error).all()


@jit(cache=False)
def largest_exp_error(first, last):
    """Of exp of all float32 numbers whose bits are first ... last - 1, relative, in units of 2^-24."""
    bits = np.empty(1, np.uint32)
    largest = 0.0
    for pattern in range(first, last):
        bits[0] = pattern
        x = bits.view(np.float32)[0]
        truth = np.exp(np.float64(x))
        error = abs(np.float64(exp_nonpositive(x)) - truth) / truth * 2.0**24
        largest = max(largest, error)
    return largest


@pytest.mark.needs_compiler
def test_exp_in_single_precision_errs_less_than_is_counted():
    """A sample of all numbers here; all 277 million of them between -2^-26 and -87 gave 1.43 units on x86 with FMA."""
    first, last = (int(np.float32(-x).view(np.uint32)) for x in (2.0**-26, 86.99))
    starts = np.linspace(first, last - 20_000, 200).astype(np.int64)
    assert 1.0 < max(largest_exp_error(start, start + 20_000) for start in starts.tolist()) <= EXP_ERROR


@pytest.mark.needs_compiler
def test_exp_in_double_precision_errs_less_than_is_counted(rng):
    evaluate = jit(lambda x: exp_nonpositive(x), cache=False)
    x = -np.exp(rng.uniform(-30, np.log(700), size=20_000))
    errors = [abs(LONG(evaluate(v)) / np.exp(LONG(v)) - 1) * LONG(2.0**53) for v in x]
    assert max(errors) <= EXP_ERROR
