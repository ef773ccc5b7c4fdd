"""Products with the kernel matrix, kept, partly kept or made anew every time, against the matrix itself."""

import numpy as np
import pytest
from scipy import sparse

from widemargin.gram.tiles import (
    TILE,
    KernelTiles,
    bounded_cross_product,
    cross_block,
    roundings_of,
)
from widemargin.kernels import BlockKernel, Gaussian, Linear
from widemargin.models.expansion import Expansion

N = 2 * TILE + 77


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(3).normal(size=(N, 5))


@pytest.mark.parametrize("budget", [0, 3 * TILE * TILE * 8, 1 << 40], ids=["nothing kept", "some kept", "all kept"])
@pytest.mark.parametrize("columns", [1, 3])
def test_product_is_that_of_the_matrix(points, rng, budget, columns):
    kernel = Gaussian(0.3)
    tiles = KernelTiles(kernel, kernel.prepare(points), np.float64, budget, 2)
    V = rng.normal(size=(N, columns))
    expected = kernel(points) @ V
    for _ in range(2):  # the second time from memory, where tiles were kept
        np.testing.assert_allclose(tiles.product(V), expected, rtol=1e-11, atol=1e-10)
    bytes_kept = sum(tile.nbytes for tile in tiles.kept if tile is not None)
    assert bytes_kept <= budget
    assert (bytes_kept > 0) == (budget > 0)


def test_single_precision_tiles_give_products_of_single_precision(points, rng):
    kernel = Gaussian(0.3)
    V = rng.normal(size=(N, 1))
    single = KernelTiles(kernel, kernel.prepare(points, np.float32), np.float32, 1 << 40, 2).product(V)
    expected = kernel(points) @ V
    assert 0 < np.abs(single - expected).max() < 1e-6 * np.abs(V).sum()


def test_the_number_of_threads_changes_no_bit(points, rng):
    kernel = Gaussian(0.3)
    V = rng.normal(size=(N, 1))
    one, four = (KernelTiles(kernel, kernel.prepare(points), np.float64, 0, k).product(V) for k in (1, 4))
    np.testing.assert_array_equal(one, four)


def test_products_between_two_sets_dense_sparse_and_mixed(rng):
    A, B = rng.normal(size=(300, 40)), rng.normal(size=(TILE + 5, 40))
    A[rng.random(A.shape) < 0.8] = 0.0
    B[rng.random(B.shape) < 0.8] = 0.0
    V = rng.normal(size=(len(B), 2))
    for left, right in ((A, B), (sparse.csr_array(A), sparse.csr_array(B)), (A, sparse.csr_array(B))):
        for kernel in (Gaussian(0.1), Linear()):
            new, known = kernel.prepare_both(left, right)
            expected = kernel(A, B)
            values = Expansion(kernel, right, V.T, np.zeros(2)).decision(left, 2)
            np.testing.assert_allclose(values, expected @ V, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(cross_block(kernel, new, known, 2), expected, rtol=1e-9, atol=1e-11)


def test_bits_meet_numbers():
    """Training samples of zeros and ones are kept as bits; new samples need not be such."""
    known, new = np.eye(4), np.full((2, 4), 0.5)
    left, right = Gaussian(1.0).prepare_both(new, known)
    np.testing.assert_allclose(cross_block(Gaussian(1.0), left, right, 1), np.exp(-1.0), rtol=1e-12)


def test_objects_have_products_too():
    words = ["margin", "kernel", "vector", "dual"]
    kernel = BlockKernel(lambda A, B: np.array([[float(len(set(a) & set(b))) for b in B] for a in A]))
    tiles = KernelTiles(kernel, kernel.prepare(words), np.float64, 1 << 20, 2)
    np.testing.assert_allclose(tiles.product(np.ones((4, 1)))[:, 0], kernel(words).sum(axis=1))


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="long double is no wider than double here")
@pytest.mark.parametrize("columns", [1, 3])
def test_bounded_products_err_by_no_more_than_their_roundings(points, rng, columns):
    """Against sums in extended precision of the same values; |K| |V| bounds every partial sum."""
    kernel = Gaussian(0.3)
    samples = kernel.prepare(points)
    V = rng.normal(size=(N, columns))
    K = np.triu(kernel(points))
    K = (K + np.triu(K, 1).T).astype(np.longdouble)
    exact, sizes = K @ V, np.abs(K) @ np.abs(V)
    tiles = KernelTiles(kernel, samples, np.float64, 1 << 40, 2)
    some = np.arange(0, N, 2)
    across = bounded_cross_product(kernel, samples, samples.take(some), V[some], 2)
    for (product, size), truth, whole, count in (
        (tiles.bounded_product(V), exact, sizes, tiles.roundings),
        (across, K[:, some] @ V[some], np.abs(K[:, some]) @ np.abs(V[some]), roundings_of(len(some))),
    ):
        np.testing.assert_allclose(size, whole.astype(float), rtol=1e-12)
        # values of tiles of other shapes may differ in their last bits
        assert (np.abs(product - truth) <= (count + 4) * 2.0**-53 * whole).all()
    assert tiles.roundings < 40
