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
from widemargin.io import load, raw_bytes, read_arrays, read_libsvm, read_table, save
from widemargin.storage.archive import read_archive, write_archive
from widemargin.storage.errors import FileError

MEGABYTE = 1 << 20
POOLS = []  # of pyarrow: what was allocated from them may be freed at any time later


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


@contextmanager
def arrow_takes_at_most(megabytes: float) -> Iterator[None]:
    """Fail if pyarrow allocates more, of which tracemalloc knows nothing."""
    import pyarrow

    before = pyarrow.default_memory_pool()
    counting = pyarrow.proxy_memory_pool(before)
    POOLS.append(counting)
    pyarrow.set_memory_pool(counting)
    try:
        yield
        assert counting.max_memory() < megabytes * MEGABYTE
    finally:
        pyarrow.set_memory_pool(before)


def write_feather(table, path, codec="zstd"):
    from pyarrow import feather

    feather.write_feather(table, str(path), compression=codec)


def write_stream(table, path):
    from pyarrow import ipc

    with ipc.new_stream(str(path), table.schema, options=ipc.IpcWriteOptions(compression="zstd")) as stream:
        stream.write_table(table)


def write_parquet(table, path):
    from pyarrow import parquet

    parquet.write_table(table, str(path), compression="zstd", use_dictionary=False)


@pytest.mark.parametrize("write", [write_feather, write_stream, write_parquet])
@pytest.mark.parametrize("what", ["zeros", "long texts", "codes of long texts"])
def test_tables_of_arrow_that_unpack_to_far_more_are_refused(tmp_path, monkeypatch, write, what):
    pyarrow = pytest.importorskip("pyarrow")
    monkeypatch.setattr(raw_bytes, "LEAST_LIMIT", 1 << 18)
    texts = pyarrow.array([f"{number}" + 500_000 * "x" for number in range(60)])
    columns = {"zeros": np.zeros(4_000_000), "long texts": texts, "codes of long texts": texts.dictionary_encode()}
    path = tmp_path / f"bomb.{'parquet' if write is write_parquet else 'arrow'}"
    write(pyarrow.table({"a": columns[what]}), path)
    assert path.stat().st_size < 1 << 16
    with arrow_takes_at_most(4), pytest.raises(FileError, match="unpack it yourself"):
        read_table(path)


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_an_ignored_column_is_not_decoded(tmp_path, ending):
    pyarrow = pytest.importorskip("pyarrow")
    path = tmp_path / f"lists.{ending}"
    table = pyarrow.table({"a": [1.0, 2.0], "lists": [np.zeros(1_000_000), np.zeros(1_000_000)]})
    (write_parquet if ending == "parquet" else write_feather)(table, path)
    for choice in ({"ignored": ["lists"]}, {"ignored": ["2"]}, {"used": ["a"]}):
        with arrow_takes_at_most(2):
            columns = read_table(path, **choice).columns
        assert columns["a"].tolist() == [1.0, 2.0] and columns["lists"].tolist() == [None, None]
    with arrow_takes_at_most(2), pytest.raises(FileError, match="has the type list"):
        read_table(path)
    assert len(read_table(path, ignored=["a", "lists"])) == 2


def test_rows_without_data_are_refused(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    path = tmp_path / "nulls.arrow"
    rows = pyarrow.record_batch({"a": pyarrow.Array.from_buffers(pyarrow.null(), 10**9, [None])})
    with pyarrow.ipc.new_file(str(path), rows.schema) as file:
        file.write_batch(rows)
    with at_most(8), pytest.raises(FileError, match="unpack it yourself"):
        read_table(path, used=[])


def test_views_of_one_long_text_are_refused(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    monkeypatch.setattr(raw_bytes, "LEAST_LIMIT", 1 << 18)
    n, text = 300, np.frombuffer(100_000 * b"x", np.uint8)
    views = np.zeros((n, 4), np.int32)
    views[:, 0] = np.arange(90_000, 90_000 + n)
    views[:, 1] = int.from_bytes(b"xxxx", "little")
    buffers = [None, pyarrow.py_buffer(views.tobytes()), pyarrow.py_buffer(text.tobytes())]
    column = pyarrow.Array.from_buffers(pyarrow.string_view(), n, buffers)
    path = tmp_path / "views.arrow"
    write_feather(pyarrow.table({"a": column}), path, "uncompressed")
    with arrow_takes_at_most(4), pytest.raises(FileError, match="unpack it yourself"):
        read_table(path)
    write_feather(pyarrow.table({"a": column[:2]}), path, "uncompressed")
    assert [len(cell) for cell in read_table(path).columns["a"]] == [90_000, 90_001]


def test_a_wide_line_of_text_takes_no_memory(tmp_path):
    path = tmp_path / "wide.libsvm"
    for index in (200_000_000, 10**17):
        path.write_text(f"+1 {index}:1\n-1 3:1\n")
        with at_most(20):
            X, y = read_libsvm(path)
            model = SVC(gamma=1.0).fit(X, y)
            assert model.predict(X).tolist() == [1.0, -1.0]
