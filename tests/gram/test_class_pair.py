"""Rows of two classes on demand: equal to the whole matrix, whatever the representation, shared between pairs."""

import numpy as np
import pytest
import scipy.sparse as sp

from tests.samples import rows_of_two
from widemargin._jit import jit
from widemargin.gram.class_pair import PairGram
from widemargin.gram.memory import ThreadMemory
from widemargin.kernels import Gaussian, Laplacian
from widemargin.kernels.distances import Absolute, Squared
from widemargin.kernels.fused_rows import Products, SparseProducts, fill_rows
from widemargin.kernels.popcount import Different

KINDS = {
    "few features": (Gaussian(0.7), 5, False, Squared),
    "more features": (Gaussian(0.02), 41, False, Squared),
    "many features": (Gaussian(0.005), 101, False, Products),
    "mostly zeros": (Gaussian(0.05), 130, False, SparseProducts),
    "laplacian": (Laplacian(0.1), 9, False, Absolute),
    "two values": (Gaussian(0.1), 70, False, Different),
}


def two_classes(kind, dtype, rng, sizes=(37, 301)):
    kernel, d, sparse, _ = KINDS[kind]
    X = rng.normal(size=(sum(sizes), d))
    if sparse or kind == "mostly zeros":
        X[rng.random(X.shape) < 0.9] = 0.0
    if kind == "two values":
        X = (X > 0.0).astype(np.float64)
    return kernel, X, rows_of_two(kernel, sp.csr_array(X) if sparse else X, sizes[0], dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_blocks_and_sums_of_rows_equal_the_whole_matrix(kind, dtype, rng):
    kernel, X, classes = two_classes(kind, dtype, rng)
    K = kernel(X)
    gram = PairGram(*classes, ThreadMemory())
    index = np.sort(rng.permutation(len(K))[:60])
    tolerance = 1e-12 if dtype == np.float64 else 2e-5 * np.abs(K).max()
    np.testing.assert_allclose(gram.block(index), K[np.ix_(index, index)], atol=tolerance)
    others, weights = rng.permutation(len(K))[:50], rng.normal(size=50)
    function = np.ones(len(K))
    gram.add_rows(others, weights, function)
    np.testing.assert_allclose(function, 1.0 + weights @ K[others], atol=50 * tolerance)
    assert gram.rows_computed == len(np.union1d(index, others))
    np.testing.assert_allclose(gram.diag, np.diagonal(K))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_rows_in_compiled_code_equal_blocks(kind, dtype, count, rng):
    kernel, X, classes = two_classes(kind, dtype, rng, sizes=(19, 45))
    source = kernel.fused_rows(classes[0].row_samples, classes[1].row_samples)
    assert type(source.rule) is KINDS[kind][3]
    K = kernel(X)
    evaluate = jit(lambda *arguments: fill_rows(*arguments), cache=False)
    for left, right in ((0, 1), (1, 0), (1, 1)):
        parts = [slice(0, 19), slice(19, 64)]
        index = rng.permutation(19)[:count].astype(np.int64)
        slots = rng.permutation(10)[:count].astype(np.int64)
        out = np.full((10, 3 + len(classes[right].known)), np.nan, dtype)
        evaluate(source, left, right, index, slots, out, 3)
        np.testing.assert_allclose(
            out[slots, 3:], K[parts[left], parts[right]][index], atol=1e-12 if dtype == np.float64 else 1e-5
        )
        assert np.isnan(out[:, :3]).all()
        assert np.isnan(np.delete(out, slots, axis=0)).all()


def test_rows_within_a_class_are_evaluated_once_for_all_pairs(rng):
    _, _, (first, second) = two_classes("few features", np.float64, rng)
    memory = ThreadMemory()
    PairGram(first, second, memory).need(np.array([0, 3, 5]))
    assert np.flatnonzero(first.known).tolist() == [0, 3, 5] and not second.known.any()
    first.rows[3] = 7.0  # a row that is known is not evaluated again
    pair = PairGram(first, second, memory)
    pair.need(np.array([0, 3, 5, 8]))
    assert np.flatnonzero(first.known).tolist() == [0, 3, 5, 8]
    assert (pair.store.rows[pair.store.slot[3], :37] == 7.0).all()
