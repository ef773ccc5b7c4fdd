"""Linear models take little memory beside their data: counted while a fit runs, and the same answers in chunks."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin import LinearSVC, LinearSVR
from widemargin.linalg import design
from widemargin.linalg.design import design_of, listed_entries
from widemargin.solvers.linear import l1

SHAPES = {"tall": (3000, 60), "square": (500, 400), "wide": (100, 2500)}
MACHINES = {
    "squared hinge": LinearSVC(C=0.01, tol=0.5),
    "hinge": LinearSVC(C=0.01, loss="hinge", tol=0.5),
    "free intercept": LinearSVC(C=0.01, penalize_intercept=False, tol=0.5),
    "joint": LinearSVC(C=0.01, multi_class="crammer_singer", tol=0.5),
    "regression": LinearSVR(C=0.01, tol=0.5),
}


@pytest.fixture
def small_chunks(monkeypatch):
    for module in (design, l1):
        monkeypatch.setattr(module, "CHUNK", 1 << 12)


def peak_of(machine, X, y):
    """Bytes allocated at the peak of a fit, after two fits that compile: the first of a process interprets some."""
    machine.fit(X, y)
    machine.fit(X, y)
    tracemalloc.start()
    try:
        machine.fit(X, y)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_fit_takes_at_most_one_float64_copy_of_dense_data_and_the_indices(name, shape, dtype, small_chunks, rng):
    X = rng.normal(size=SHAPES[shape]).astype(dtype)
    y = np.arange(len(X)) % 2 if name != "regression" else rng.normal(size=len(X))
    n, d = X.shape
    besides = 8 * (80 * n + 20 * d + 4 * min(n, d) ** 2) + 500_000  # vectors, a Gram matrix and its factor, chunks
    copies = 0.5 + (dtype == np.float32)  # in float64: the indices, and the conversion
    assert peak_of(MACHINES[name], X, y) <= copies * 8 * X.size + besides


def test_l1_takes_the_signed_columns_and_their_indices(small_chunks, rng):
    X = rng.normal(size=(20_000, 40))
    besides = 8 * (25 * len(X) + 2 * design.GRAM_CHUNK * 40) + 500_000
    assert peak_of(LinearSVC(penalty="l1", C=0.002), X, X[:, 0] > 0.5) <= 1.5 * X.nbytes + besides


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_listed_entries_are_those_of_the_matrix(share, rng):
    X = rng.normal(size=(30, 7)) * (rng.random((30, 7)) < share)
    listed = listed_entries(X, [slice(0, 11), slice(11, 30)])
    assert listed.indices.dtype == np.int32 and listed.has_canonical_format
    np.testing.assert_array_equal(listed.toarray(), X)
    assert np.shares_memory(listed.data, X) == (share == 1.0)


@pytest.mark.parametrize("sparse", [False, True])
def test_products_in_chunks_are_the_products(sparse, monkeypatch, rng):
    X = rng.normal(size=(60, 9))
    rows, some, few = design_of(sp.csr_array(X) if sparse else X, 2.0), np.arange(3, 40), np.arange(5, 25)
    w, weights = rng.normal(size=10), rng.random(60)
    with_column = np.column_stack([X, np.full(60, 2.0)])
    for chunk in (1 << 20, 20):
        monkeypatch.setattr(design, "CHUNK", chunk)
        np.testing.assert_allclose(rows.times_at(some, w), with_column[some] @ w)
        np.testing.assert_allclose(rows.times_at(few, w), with_column[few] @ w)
        np.testing.assert_allclose(rows.squared_columns(weights), (X**2).T @ weights)
        np.testing.assert_allclose(rows.inner(some, few), X[some] @ X[few].T, atol=1e-14)
        np.testing.assert_allclose(design_of(rows.X, 2.0).squared_norms, (X**2).sum(axis=1))
        total = np.ones(10)
        rows.add_transposed(few, weights[few], total)
        np.testing.assert_allclose(total, 1.0 + weights[few] @ with_column[few])
        parts = [chunk.times(np.abs(w)) for _, chunk in rows.absolute_chunks()]
        np.testing.assert_allclose(np.concatenate(parts), np.abs(with_column) @ np.abs(w))


def test_problems_of_a_fit_share_the_sparse_form_while_one_of_them_uses_it(rng):
    rows = design_of(rng.normal(size=(20, 5)), 1.0)
    first = rows.as_sparse()
    assert rows.as_sparse() is first
    del first
    assert rows._in_use() is None
