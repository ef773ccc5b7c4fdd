"""LIBSVM text: values read, every way of compressing, and errors that name file, line, column and what was expected."""

import bz2
import gzip
import io
import lzma
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse import random as random_sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from widemargin.io import FileError, libsvm_parser, read_libsvm, write_libsvm
from widemargin.io.libsvm_text import matrix_from_text, wrong_with

TEXT = b"+1 1:0.5 3:-2.25  # a comment: 4:5\n\n-1 2:1e-3\r\n2.5\n"
VALUES = [[0.5, 0.0, -2.25], [0.0, 1e-3, 0.0], [0.0, 0.0, 0.0]]


def written(tmp_path, data, name="data.txt"):
    path = tmp_path / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("name", "pack"),
    [("a.txt", bytes), ("a.gz", gzip.compress), ("a.BZ2", bz2.compress), ("a.t.xz", lzma.compress), ("a", bytes)],
)
def test_values_plain_and_compressed(tmp_path, name, pack):
    X, y = read_libsvm(written(tmp_path, pack(TEXT), name))
    np.testing.assert_array_equal(X.toarray(), VALUES)
    np.testing.assert_array_equal(y, [1.0, -1.0, 2.5])
    assert (X.format, X.dtype, X.indices.dtype) == ("csr", np.float64, np.int32)
    assert X.has_canonical_format


def test_standard_input(monkeypatch):
    for data in (TEXT, gzip.compress(TEXT)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        np.testing.assert_array_equal(read_libsvm("-")[0].toarray(), VALUES)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1 1:2\n1 x:2\n")))
    with pytest.raises(FileError, match="^standard input, line 2, column 3: the index in 'x:2'"):
        read_libsvm("-")


@pytest.mark.parametrize("end", [b"\n", b"", b"\r\n", b"\n\n", b" ", b"\t# end"])
def test_the_last_line_may_end_in_any_way(end):
    X, y, _ = matrix_from_text(b"1 1:2\n-1 2:3" + end, "text")
    np.testing.assert_array_equal(X.toarray(), [[2, 0], [0, 3]])
    np.testing.assert_array_equal(y, [1, -1])


def test_blanks_comments_query_numbers_and_a_byte_order_mark():
    text = b"\xef\xbb\xbf  1\t 1:2 \v\f qid:7 3:4#5:6\n#1:1\n   \n-1 qid:\xff\x00 2:5 # \xff\x00\n"
    X, y, _ = matrix_from_text(text, "text")
    np.testing.assert_array_equal(X.toarray(), [[2, 0, 4], [0, 5, 0]])
    np.testing.assert_array_equal(y, [1, -1])


def test_index_zero_means_counting_from_zero_unless_said_otherwise():
    X, _, zero_based = matrix_from_text(b"1 0:3 2:4\n", "text")
    np.testing.assert_array_equal(X.toarray(), [[3.0, 0.0, 4.0]])
    assert zero_based
    X, _, _ = matrix_from_text(b"1 1:3\n", "text", zero_based=True)
    np.testing.assert_array_equal(X.toarray(), [[0.0, 3.0]])
    with pytest.raises(FileError, match="text has feature 0, but indices were expected to count from 1"):
        matrix_from_text(b"1 0:3\n", "text", zero_based=False)


def test_number_of_columns_wanted(tmp_path):
    path = written(tmp_path, b"1 1:3 2:4\n")
    np.testing.assert_array_equal(read_libsvm(path, n_features=4)[0].toarray(), [[3.0, 4.0, 0.0, 0.0]])
    with pytest.raises(FileError, match="has feature 2, but 1 features were expected"):
        read_libsvm(path, n_features=1)


def test_indices_beyond_32_bits():
    X, _, _ = matrix_from_text(b"1 1:3 2147483648:4\n1 999999999999999999:5\n", "text")
    assert X.shape == (2, 10**18 - 1)
    assert X.indices.tolist() == [0, 2**31 - 1, 10**18 - 2]
    assert X.indices.dtype == np.int64
    X, _, _ = matrix_from_text(b"1 2147483647:4\n", "text")
    assert (X.indices.dtype, X.shape) == (np.int32, (1, 2**31 - 1))


def test_a_line_of_a_million_columns():
    line = b"1 " + b" ".join(b"%d:%d" % (index, index % 7 + 1) for index in range(1, 1_000_001)) + b"\n-1 1:1\n"
    X, _, _ = matrix_from_text(line, "text")
    np.testing.assert_array_equal(np.diff(X.indptr), [1_000_000, 1])
    np.testing.assert_array_equal(X.data[:-1], np.arange(1, 1_000_001) % 7 + 1)


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        (b"1:2 3:4", 1, "no label before '1:2'"),
        (b"  spam 1:2", 3, "the label 'spam' is not a finite number"),
        (b"nan 1:2", 1, "the label 'nan' is not a finite number"),
        (b"1,2 1:2", 1, "the label '1,2' is not a finite number"),
        (b"1 2 3:4", 3, "'2' has no colon, expected index:value such as 3:0.5"),
        (b"1 a:4", 3, "the index in 'a:4' is not a whole number"),
        (b"1 -1:4", 3, "the index in '-1:4' is not a whole number"),
        (b"1 1.5:4", 3, "the index in '1.5:4' is not a whole number"),
        (b"1 1:x", 5, "the value in '1:x' is not a finite number"),
        (b"1 1:", 5, "the value in '1:' is not a finite number"),
        (b"1 1: 2", 5, "the value in '1:' is not a finite number"),
        (b"1 10:nan", 6, "the value in '10:nan' is not a finite number"),
        (b"1 1:inf", 5, "the value in '1:inf' is not a finite number"),
        (b"1 1:1e999", 5, "the value in '1:1e999' is not a finite number"),
        (b"1 1:1e", 5, "the value in '1:1e' is not a finite number"),
        (b"1 1:1_0", 5, "the value in '1:1_0' is not a finite number"),
        (b"1 1:2:3", 5, "the value in '1:2:3' is not a finite number"),
        (b"1 3:1 2:1", 7, "index 2 comes after 3, expected ascending indices without repetition"),
        (b"1 2:1 2:1", 7, "index 2 comes after 2"),
        (b"1 9999999999999999999:1", 3, "index '9999999999999999999' is too large"),
        (b"1 1:\xff", 3, "bytes that are no ASCII text"),
        (b"1 \x00:1", 3, "a zero byte, as in binary files"),
        (b"1 " + b"x" * 500, 3, "'" + "x" * 40 + r"\.\.\.' has no colon"),
    ],
)
def test_errors_name_file_line_column_and_what_was_expected(tmp_path, line, column, message):
    path = written(tmp_path, b"1 1:2\n\n" + line + b"\n1 oops\n")
    with pytest.raises(FileError, match=f"data.txt, line 3, column {column}: {message}"):
        read_libsvm(path)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileError, match="missing.txt does not exist"):
        read_libsvm(tmp_path / "missing.txt")
    with pytest.raises(FileError, match="is a folder"):
        read_libsvm(tmp_path)
    for nothing in (b"# nothing\n\n", b""):
        with pytest.raises(FileError, match="holds no samples"):
            read_libsvm(written(tmp_path, nothing))
    with pytest.raises(FileError, match="is UTF-16 text: save it as UTF-8"):
        read_libsvm(written(tmp_path, "1 1:2\n".encode("utf-16")))


@pytest.mark.parametrize(("name", "pack"), [("a.gz", gzip.compress), ("a.bz2", bz2.compress), ("a.xz", lzma.compress)])
def test_damaged_archives(tmp_path, name, pack):
    with pytest.raises(FileError, match=f"{name} is damaged or not what its ending says"):
        read_libsvm(written(tmp_path, TEXT, name))
    packed = pack(np.random.default_rng(0).bytes(3000).hex().encode())
    for part in (packed[:-20], packed[: len(packed) // 2], packed[:12]):
        with pytest.raises(FileError, match=f"{name} is damaged or not what its ending says"):
            read_libsvm(written(tmp_path, part, name))


def test_a_compressed_file_without_its_ending_is_recognised(tmp_path):
    np.testing.assert_array_equal(read_libsvm(written(tmp_path, lzma.compress(TEXT), "data"))[0].toarray(), VALUES)
    with pytest.raises(FileError, match="compressed with Zstandard.*unzstd"):
        read_libsvm(written(tmp_path, b"\x28\xb5\x2f\xfd\x00", "data.zst"))


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_chunks_join_wherever_the_text_is_cut(monkeypatch, n_jobs):
    rng = np.random.default_rng(0)
    X = random_sparse(300, 50, density=0.2, format="csr", random_state=0)
    y = rng.normal(size=300)
    stream = io.BytesIO()
    dump_svmlight_file(X, y, stream, zero_based=False, comment="two\nlines: of comment")
    expected, labels = load_svmlight_file(io.BytesIO(stream.getvalue()), n_features=50)
    for size in (1, 7, 100, 5000, 10**6):
        monkeypatch.setattr(libsvm_parser, "SMALLEST_CHUNK", size)
        monkeypatch.setattr(libsvm_parser, "CHUNKS_PER_THREAD", 10**6)
        found, y_found, _ = matrix_from_text(stream.getvalue(), "text", 50, n_jobs=n_jobs)
        assert (found != expected).nnz == 0
        np.testing.assert_array_equal(found.indptr, expected.indptr)
        np.testing.assert_array_equal(y_found, labels)


def test_the_first_of_several_wrong_lines_is_named(monkeypatch):
    monkeypatch.setattr(libsvm_parser, "SMALLEST_CHUNK", 8)
    monkeypatch.setattr(libsvm_parser, "CHUNKS_PER_THREAD", 10**6)
    with pytest.raises(FileError, match="text, line 3, column 5: the value in '1:1e400'"):
        matrix_from_text(b"1 1:2\n1 1:3\n1 1:1e400\n1 oops\n1 5000000000:1\n", "text", n_jobs=2)


def test_more_odd_numbers_than_a_chunk_has_room_for():
    digits = "0.12345678901234567890123"
    lines = "".join(f"{digits}{row} 1:{digits}{row} 2:1e-200\n" for row in range(200))
    X, y, _ = matrix_from_text(lines.encode(), "text")
    expected = [float(f"{digits}{row}") for row in range(200)]
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(X.toarray(), np.column_stack([expected, np.full(200, 1e-200)]))


# ---- any text ----

TOKENS = st.sampled_from(
    ["1", "-1", "+2.5", "1:2", "2:-3e5", "3:.5", "7:1e-7", "7:5.", "qid:3", "#", "# 1:2", "0:1", "nan", "1:inf", "a:b"]
    + ["1e999", ":", "1:", "4294967296:1", "-", "+", "e5", ".", "1:0x10", "1 ", "\t", "\r", "\x00", "é", "1:1e-400"]
)


@given(lines=st.lists(st.lists(TOKENS, max_size=6).map(" ".join), max_size=6))
@example(lines=["1 qid:é", "1 qid:\x00 a"])
@settings(max_examples=300)
def test_the_parser_and_the_explanation_agree_on_what_is_wrong(lines):
    data = "\n".join(lines).encode()
    wrong = [number for number, line in enumerate(data.split(b"\n"), start=1) if wrong_with(line)]
    try:
        X, y, _ = matrix_from_text(data, "text")
    except FileError as error:
        expected = f"text, line {wrong[0]}, column" if wrong else "text holds no samples"
        assert str(error).startswith(expected)
    else:
        assert not wrong
        X.check_format()
        assert X.shape[0] == len(y) > 0


@given(data=st.binary(max_size=200))
@example(data=b"1 1:" + b"9" * 400)
@example(data=b"\x1f\x8b\x08")
@settings(max_examples=300)
def test_any_bytes_give_a_matrix_or_a_sentence(data):
    try:
        X, y, _ = matrix_from_text(data, "text")
    except FileError as error:
        assert str(error).startswith("text")
    else:
        X.check_format()
        assert np.isfinite(X.data).all()
        assert np.isfinite(y).all()


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 30), d=st.integers(1, 20))
@settings(max_examples=25)
def test_what_scikit_learn_writes_is_read_as_scikit_learn_reads_it(seed, n, d):
    X = random_sparse(n, d, density=0.3, format="csr", random_state=seed)
    X.data *= 10.0 ** np.random.default_rng(seed).integers(-20, 20, X.nnz)
    stream = io.BytesIO()
    dump_svmlight_file(X, np.random.default_rng(seed).normal(size=n), stream, zero_based=False)
    ours, y, _ = matrix_from_text(stream.getvalue(), "text", d)
    theirs, y_theirs = load_svmlight_file(io.BytesIO(stream.getvalue()), n_features=d, zero_based=False)
    np.testing.assert_array_equal(ours.toarray(), theirs.toarray())
    np.testing.assert_array_equal(y, y_theirs)


@given(seed=st.integers(0, 2**32 - 1), zero_based=st.booleans())
def test_what_is_written_reads_back_exactly(seed, zero_based):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 5)) * 10.0 ** rng.integers(-300, 300, (8, 5)) * (rng.random((8, 5)) < 0.6)
    y = rng.normal(size=8)
    stream = io.StringIO()
    write_libsvm(csr_matrix(X) if zero_based else X, y, stream, zero_based=zero_based)
    found, labels, _ = matrix_from_text(stream.getvalue().encode(), "text", 5, zero_based=zero_based)
    np.testing.assert_array_equal(found.toarray(), X)
    np.testing.assert_array_equal(labels, y)
