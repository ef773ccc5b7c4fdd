"""The choice of a representation, what it accepts, and that cutting it up changes no value."""

import os
import pickle
import tempfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tests.kernels.brute_force import KERNELS, error
from widemargin.kernels import (
    ChiSquared,
    Cosine,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    RepresentationMismatch,
)
from widemargin.kernels.kernel import COLUMN_TILE
from widemargin.kernels.samples.binary import BinaryRows
from widemargin.kernels.samples.dense import DenseColumns, DenseRows
from widemargin.kernels.samples.on_disk import empty_for, is_on_disk
from widemargin.kernels.samples.sparse import SparseRows


def block(kernel, left, right):
    return kernel.block(left, right, np.empty((len(left), len(right)), left.dtype))


# ----- the choice
@pytest.mark.parametrize(
    ("kernel", "shape", "expected"),
    [
        (Linear(), (20, 5), DenseRows),
        (Gaussian(), (20, 5), DenseColumns),
        (Gaussian(), (20, 60), DenseRows),
        (Laplacian(), (20, 60), DenseColumns),
        (ChiSquared(), (20, 60), DenseColumns),
    ],
)
def test_dense_data(kernel, shape, expected, rng):
    assert type(kernel.prepare(rng.random(shape))) is expected


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(), Laplacian(), Cosine()])
def test_bits_are_packed_whatever_they_come_in(kernel, rng):
    X = rng.random((20, 70)) < 0.4
    for form in (X, X.astype(int), X.astype(np.float32), sparse.csr_array(X.astype(float)), sparse.csc_matrix(X * 1)):
        samples = kernel.prepare(form)
        assert type(samples) is BinaryRows
        assert samples.words.shape == (2, 20)
        np.testing.assert_array_equal(samples.squares, X.sum(axis=1))


def test_a_single_other_value_prevents_packing(rng):
    X = (rng.random((9000, 70)) < 0.4) * 1.0
    X[-1, -1] = 2.0
    assert type(Linear().prepare(X)) is DenseRows


def test_wide_sparse_bits_stay_sparse(rng):
    X = sparse.random_array((30, 5000), density=0.01, rng=rng, format="csr")
    X.data[:] = 1.0
    assert type(Linear().prepare(X)) is SparseRows


def test_sparse_data_that_are_nearly_full_become_dense(rng):
    X = rng.random((30, 40))
    assert type(Linear().prepare(sparse.csr_array(X))) is DenseRows
    assert type(Linear().prepare(sparse.csr_array(X * (rng.random(X.shape) < 0.1)))) is SparseRows


# ----- what is accepted
@pytest.mark.parametrize("kernel", [Linear(), Gaussian(0.5), Laplacian(0.5)])
@pytest.mark.parametrize("n_features", [4, 40])
def test_any_order_type_and_flag_gives_the_same_values(kernel, n_features, rng, tmp_path):
    X = rng.integers(0, 7, (30, n_features))
    frozen = X.astype(np.float64)
    frozen.flags.writeable = False
    on_disk = np.memmap(tmp_path / "X.bin", np.float64, "w+", shape=X.shape)
    on_disk[:] = X
    on_disk.flush()
    read_only = np.memmap(tmp_path / "X.bin", np.float64, "r", shape=X.shape)
    expected = kernel(X.astype(np.float64))
    assert error(expected, kernel, X) < 1e-9
    wide = np.zeros((30, 2 * n_features))
    wide[:, ::2] = X
    for form in (X, X.tolist(), np.asfortranarray(X * 1.0), frozen, read_only, X.astype(np.float32), wide[:, ::2]):
        np.testing.assert_array_equal(kernel(form), expected)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_sparse_formats_and_index_types_give_the_same_values(kernel, rng):
    X = sparse.random_array((40, 300), density=0.05, rng=rng, format="csr")
    wide = sparse.csr_matrix((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)
    unsorted = X.copy()
    for i in range(40):
        part = slice(X.indptr[i], X.indptr[i + 1])
        unsorted.indices[part], unsorted.data[part] = X.indices[part][::-1], X.data[part][::-1]
    unsorted.has_sorted_indices = False
    before = unsorted.indices.copy()
    doubled = sparse.coo_matrix((np.r_[X.data, X.data] / 2, (np.tile(X.tocoo().row, 2), np.tile(X.tocoo().col, 2))))
    doubled.resize(X.shape)
    frozen = X.copy()
    frozen.data.flags.writeable = False
    frozen.indices.flags.writeable = False
    frozen.indptr.flags.writeable = False
    expected = kernel(X)
    assert error(expected, kernel, X) < 1e-9
    for form in (wide, unsorted, X.tocsc(), sparse.csr_matrix(X), frozen, doubled):
        np.testing.assert_allclose(kernel(form), expected, rtol=1e-14, atol=1e-15)
    np.testing.assert_array_equal(unsorted.indices, before)


def test_no_copy_where_none_is_needed(rng):
    for dtype in (np.float32, np.float64):
        X = rng.random((30, 40)).astype(dtype)
        assert np.shares_memory(Linear().prepare(X, dtype).values, X)
    assert np.shares_memory(Gaussian().prepare(X, np.float64).values, X)


def test_input_is_never_written_to(rng):
    X = rng.random((30, 40)) + 5
    before = X.copy()
    for kernel in KERNELS:
        for dtype in (np.float32, np.float64):
            kernel(X, dtype=dtype)
    np.testing.assert_array_equal(X, before)


def test_what_cannot_be_read_is_refused_with_a_sentence():
    with pytest.raises(ValueError, match=r"shape \(3,\).*reshape"):
        Linear().prepare([1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match="needs numbers.*PairKernel"):
        Linear().prepare([["a", "b"]])
    with pytest.raises(ValueError, match="float32 or float64, not in int64"):
        Linear().prepare([[1.0]], np.int64)


# ----- cutting
KINDS = {
    "rows": lambda rng: rng.random((70, 30)),
    "columns": lambda rng: rng.random((70, 6)),
    "bits": lambda rng: (rng.random((70, 100)) < 0.3) * 1.0,
    "sparse": lambda rng: sparse.random_array((70, 200), density=0.05, rng=rng, format="csr"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel", [Gaussian(0.3), Laplacian(0.3), Polynomial(2, 1.0, 1.0), Cosine()], ids=repr)
@given(cuts=st.tuples(*[st.integers(0, 70)] * 4), seed=st.integers(0, 1000))
def test_takes_and_tiles_at_any_offset_cut_the_same_matrix(kernel, kind, cuts, seed):
    rng = np.random.default_rng(0)
    samples = kernel.prepare(KINDS[kind](rng))
    whole = block(kernel, samples, samples)
    index = np.random.default_rng(seed).integers(0, 70, 9)
    (a, b), (c, d) = sorted(cuts[:2]), sorted(cuts[2:])
    tolerance = kernel.rounding(samples)

    def same(left, right, expected):
        assert (len(left), len(right)) == expected.shape
        np.testing.assert_allclose(block(kernel, left, right), expected, rtol=0, atol=tolerance)

    same(samples.take(index), samples.tile(c, d), whole[index, c:d])
    same(samples.tile(a, b), samples.tile(c, d), whole[a:b, c:d])
    same(samples.tile(a, 70).tile(0, b - a), samples.take(index), whole[a:b, index])
    inner = np.arange(b - a)[::-2]
    same(samples.tile(a, b).take(inner), samples.take(index).tile(2, 7), whole[a:b][inner][:, index[2:7]])
    np.testing.assert_allclose(kernel.diag(samples.tile(a, b)), kernel.diag(samples)[a:b])


def test_sparse_tiles_on_and_off_the_marks_of_the_index(rng):
    n = 2 * COLUMN_TILE + 300
    X = sparse.random_array((n, 400), density=0.02, rng=rng, format="csr")
    kernel = Linear()
    samples = kernel.prepare(X)
    assert type(samples) is SparseRows
    assert samples.store.stride == COLUMN_TILE
    index = rng.permutation(n)[:20]
    left, expected = samples.take(index), (X[index] @ X.T).toarray()
    for a, b in (
        (0, COLUMN_TILE),
        (COLUMN_TILE, 2 * COLUMN_TILE),
        (2 * COLUMN_TILE, n),
        (0, n),
        (5, 17),
        (1000, 1100),
        (1024, 1500),
        (700, n),
    ):
        np.testing.assert_allclose(block(kernel, left, samples.tile(a, b)), expected[:, a:b], atol=1e-13)


def test_the_marks_of_a_wide_index_do_not_outweigh_the_data(rng):
    X = sparse.random_array((3000, 100_000), density=2e-5, rng=rng, format="csr")
    samples = Linear().prepare(X)
    assert samples.store.inverted_index[0].nbytes <= 2 * 8 * max(X.nnz, X.shape[1])
    np.testing.assert_allclose(block(Linear(), samples.tile(5, 9), samples), (X[5:9] @ X.T).toarray(), atol=1e-14)


def test_blocks_go_into_parts_of_larger_arrays(rng):
    X = rng.random((12, 30))
    for kernel in KERNELS:
        samples = kernel.prepare(X)
        large = np.full((20, 40), -7.0)
        part = large[3:15, 5:17]
        assert kernel.block(samples, samples, part) is part
        np.testing.assert_array_equal(part, kernel(X))
        large[3:15, 5:17] = -7.0
        assert (large == -7.0).all(), "written outside the block"


def test_rows_that_are_not_contiguous_are_refused(rng):
    samples = Gaussian().prepare(rng.random((4, 3)))
    with pytest.raises(ValueError, match="contiguous"):
        Gaussian().block(samples, samples, np.empty((4, 8))[:, ::2])


# ----- like=
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_dense_and_sparse_mix_at_prediction(kernel, dtype, rng):
    X = rng.random((25, 60)) * (rng.random((25, 60)) < 0.1)
    Z = rng.random((11, 60)) * (rng.random((11, 60)) < 0.5)
    for train, new in ((X, sparse.csr_array(Z)), (sparse.csr_array(X), Z), (sparse.csr_array(X), sparse.csr_array(Z))):
        right = kernel.prepare(train, dtype)
        left = kernel.prepare(new, np.float64, like=right.take(np.arange(20)))
        assert type(left) is type(right)
        assert left.dtype == dtype
        allowed = max(kernel.rounding(left), kernel.rounding(right))
        assert error(block(kernel, left, right), kernel, Z, X) <= allowed


def test_new_data_are_moved_to_the_origin_of_the_old(rng):
    X, Z = rng.random((25, 40)) + 100, rng.random((11, 40)) + 101
    kernel = Gaussian(0.5)
    for n_features in (5, 40):
        right = kernel.prepare(X[:, :n_features], np.float32)
        left = kernel.prepare(Z[:, :n_features], like=right)
        assert left.origin is right.origin
        assert error(block(kernel, left, right), kernel, Z[:, :n_features], X[:, :n_features]) < 3e-6


def test_data_that_are_no_bits_do_not_follow_bits(rng):
    bits = (rng.random((25, 40)) < 0.5) * 1.0
    other = rng.random((11, 40))
    for kernel in (Linear(), Gaussian(0.1), Laplacian(0.1)):
        with pytest.raises(RepresentationMismatch, match="only and the new data hold others"):
            kernel.prepare(other, like=kernel.prepare(bits))
        assert error(kernel(bits, other), kernel, bits, other) < 1e-12, "calling a kernel prepares both anew"
        assert error(kernel(other, bits), kernel, other, bits) < 1e-12


def test_a_wrong_number_of_features_is_said(rng):
    for X in (rng.random((25, 40)), (rng.random((25, 40)) < 0.5), sparse.random_array((25, 40), density=0.1)):
        for kernel in (Linear(), Gaussian()):
            with pytest.raises(ValueError, match="39 features .* have 40"):
                kernel.prepare(rng.random((5, 39)), like=kernel.prepare(X))


@pytest.mark.parametrize("kind", KINDS)
def test_samples_survive_pickling(kind, rng):
    kernel = Gaussian(0.3)
    samples = kernel.prepare(KINDS[kind](rng))
    again = pickle.loads(pickle.dumps(samples))
    np.testing.assert_array_equal(block(kernel, again, again), block(kernel, samples, samples))


@pytest.mark.needs_compiler
def test_several_threads_share_samples(rng):
    from concurrent.futures import ThreadPoolExecutor

    X = sparse.random_array((600, 300), density=0.05, rng=rng, format="csr")
    for data, kernel in ((X, Gaussian(0.3)), (X, Laplacian(0.3)), (X.toarray()[:, :7], Gaussian(0.3))):
        samples = kernel.prepare(data).take(np.arange(600))  # taken: its index is built by whichever thread is first
        alone = block(kernel, samples, samples)
        out = np.zeros((600, 600))
        with ThreadPoolExecutor(4) as pool:
            tasks = [
                pool.submit(kernel.block, samples, samples.tile(a, a + 100), out[:, a : a + 100])
                for a in range(0, 600, 100)
            ]
            for task in tasks:
                task.result()
        np.testing.assert_allclose(out, alone, rtol=1e-13)


@pytest.mark.parametrize("n_features", [4, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_samples_of_a_memmap_stay_on_disk(n_features, dtype, rng, tmp_path, monkeypatch):
    """Data given as a memmap need not fit in memory, and neither do prepared ones; those of arrays are arrays."""
    monkeypatch.setattr("widemargin.kernels.samples.on_disk.IN_MEMORY", 0)
    X = 50.0 + rng.random((30, n_features)).astype(np.float32)
    X.tofile(tmp_path / "X.float32")
    mapped = np.memmap(tmp_path / "X.float32", np.float32, "r", shape=X.shape)
    kernel = Gaussian(0.5)
    there, here = kernel.prepare(mapped, dtype), kernel.prepare(X, dtype)
    field = "columns" if isinstance(there, DenseColumns) else "values"
    assert is_on_disk(getattr(there, field)) and not is_on_disk(getattr(here, field))
    expected = kernel.block(here, here, np.empty((30, 30), dtype))
    np.testing.assert_array_equal(kernel.block(there, there, np.empty((30, 30), dtype)), expected)
    assert not is_on_disk(getattr(there.take(np.arange(3)), field))


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="the system cannot reserve room")
def test_the_room_of_samples_on_disk_is_reserved(tmp_path, monkeypatch):
    """Writing to a mapped file for which the disk has no room ends the process."""
    monkeypatch.setattr("widemargin.kernels.samples.on_disk.IN_MEMORY", 0)
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **options: open(tmp_path / "room", "w+b"))  # noqa: SIM115
    mapped = np.memmap(tmp_path / "X", np.float64, "w+", shape=1)
    assert empty_for(mapped, (1000, 100), np.float64).shape == (1000, 100)
    assert os.stat(tmp_path / "room").st_blocks * 512 >= 800_000
