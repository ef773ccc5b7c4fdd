"""Files that ask for more memory or time than they are worth, and what is said about them."""

import bz2
import gzip
import lzma
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from scipy import sparse

from widemargin import SVC
from widemargin.io import load, raw_bytes, read_arrays, read_libsvm, save
from widemargin.storage.archive import read_archive, write_archive
from widemargin.storage.errors import FileError

MEGABYTE = 1 << 20


@contextmanager
def at_most(megabytes: float) -> Iterator[None]:
    """Fail if Python and NumPy allocate more."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < megabytes * MEGABYTE
    finally:
        tracemalloc.stop()


@pytest.fixture
def saved(tmp_path, iris):
    """Path of a model file, and a function that writes it again with a changed header."""
    path = tmp_path / "iris.model"
    save(SVC(class_weight={0: 1.0, 1: 2.0}).fit(*iris), path)

    def change(edit) -> None:
        header, arrays = read_archive(path)
        edit(header, arrays)
        write_archive(path, header, arrays)

    return path, change


def test_an_array_named_many_times_is_refused(saved):
    path, change = saved

    def edit(header, arrays):
        arrays["big"] = np.array(["word"] * 50_000)
        many = [{"kind": "array", "name": "big", "object": True} for _ in range(300)]
        header["fitted"]["more_"] = {"kind": "list", "items": many}

    change(edit)
    with at_most(60), pytest.raises(FileError, match="more than once"):
        load(path)


def test_keys_with_equal_hashes_are_refused(saved):
    path, change = saved
    pairs = [[number * (2**61 - 1), 0] for number in range(3000)]
    change(lambda header, arrays: header["fitted"].update(more_={"kind": "dict", "items": pairs}))
    with pytest.raises(FileError, match="key of type int"):
        load(path)


def test_a_header_of_very_many_values_is_refused(saved, monkeypatch):
    path, change = saved
    monkeypatch.setattr("widemargin.storage.archive.MOST_VALUES", 1000)
    change(lambda header, arrays: header["fitted"].update(more_=[[]] * 1001))
    with pytest.raises(FileError, match="more than 1,000 values"):
        load(path)


def test_sparse_coefficients_of_an_absurd_shape_are_not_written_out(tmp_path, iris):
    path = tmp_path / "iris.model"
    X, y = iris
    save(SVC().fit(sparse.csr_matrix(X), y), path)
    header, arrays = read_archive(path)
    header["fitted"]["dual_coef_"]["shape"][1] = 10**12
    write_archive(path, header, arrays)
    with at_most(20), pytest.raises(FileError, match="must be as many"):
        load(path)


@pytest.mark.parametrize("packed", [gzip.compress, bz2.compress, lzma.compress])
def test_a_file_that_unpacks_to_far_more_is_refused(tmp_path, monkeypatch, packed):
    monkeypatch.setattr(raw_bytes, "LEAST_LIMIT", 1 << 18)
    monkeypatch.setattr(raw_bytes, "BLOCK_BYTES", 1 << 16)
    path = tmp_path / "bomb.libsvm"
    path.write_bytes(packed(b"\n" * (1 << 25)))
    with at_most(16), pytest.raises(FileError, match="unpack it yourself"):
        read_libsvm(path)


def test_compressed_arrays_that_unpack_to_far_more_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(raw_bytes, "LEAST_LIMIT", 1 << 18)
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, X=np.zeros((1000, 1000)), y=np.zeros(1000))
    with at_most(6), pytest.raises(FileError, match="unpack it yourself"):
        read_arrays(path)
    np.savez_compressed(path, X=np.eye(30), y=np.arange(30))
    assert read_arrays(path)[0].shape == (30, 30)


def test_a_wide_line_of_text_takes_no_memory(tmp_path):
    path = tmp_path / "wide.libsvm"
    for index in (200_000_000, 10**17):
        path.write_text(f"+1 {index}:1\n-1 3:1\n")
        with at_most(20):
            X, y = read_libsvm(path)
            model = SVC(gamma=1.0).fit(X, y)
            assert model.predict(X).tolist() == [1.0, -1.0]
