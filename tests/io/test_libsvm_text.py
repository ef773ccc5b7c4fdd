"""LIBSVM text: values read, every way of compressing, and errors that name the file, the line and what was expected."""

import bz2
import gzip
import io
import lzma
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import random as random_sparse
from sklearn.datasets import dump_svmlight_file

from widemargin.io import FileError, read_libsvm
from widemargin.io.libsvm_text import wrong_with

TEXT = b"+1 1:0.5 3:-2.25  # a comment\n\n-1 2:1e-3\r\n2.5\n"
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


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT)))
    X, _ = read_libsvm("-")
    np.testing.assert_array_equal(X.toarray(), VALUES)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1 1:2\n1 x:2\n")))
    with pytest.raises(FileError, match="^standard input, line 2: the index in 'x:2'"):
        read_libsvm("-")


def test_index_zero_means_counting_from_zero(tmp_path):
    X, _ = read_libsvm(written(tmp_path, b"1 0:3 2:4\n"))
    np.testing.assert_array_equal(X.toarray(), [[3.0, 0.0, 4.0]])


def test_number_of_columns_wanted(tmp_path):
    path = written(tmp_path, b"1 1:3 2:4\n")
    np.testing.assert_array_equal(read_libsvm(path, n_features=4)[0].toarray(), [[3.0, 4.0, 0.0, 0.0]])
    with pytest.raises(FileError, match="has feature 2, but 1 features were expected"):
        read_libsvm(path, n_features=1)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"1:2 3:4", "no label before '1:2'"),
        (b"spam 1:2", "the label 'spam' is not a finite number"),
        (b"nan 1:2", "the label 'nan' is not a finite number"),
        (b"1 2 3:4", "'2' has no colon, expected index:value such as 3:0.5"),
        (b"1 a:4", "the index in 'a:4' is not a whole number"),
        (b"1 -1:4", "the index in '-1:4' is not a whole number"),
        (b"1 1:x", "the value in '1:x' is not a finite number"),
        (b"1 1:nan", "the value in '1:nan' is not a finite number"),
        (b"1 1:inf", "the value in '1:inf' is not a finite number"),
        (b"1 3:1 2:1", "index 2 comes after 3"),
        (b"1 2:1 2:1", "index 2 comes after 2"),
        (b"1 99999999999:1", "index 99999999999 is too large"),
        (b"1 1:\xff", "bytes that are no ASCII text"),
        (b"1 " + b"x" * 500, "'" + "x" * 40 + r"\.\.\.' has no colon"),
    ],
)
def test_errors_name_file_line_and_what_was_expected(tmp_path, line, message):
    path = written(tmp_path, b"1 1:2\n\n" + line + b"\n1 oops\n")
    with pytest.raises(FileError, match=f"data.txt, line 3: {message}"):
        read_libsvm(path)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileError, match="missing.txt does not exist"):
        read_libsvm(tmp_path / "missing.txt")
    with pytest.raises(FileError, match="is a folder"):
        read_libsvm(tmp_path)
    with pytest.raises(FileError, match="holds no samples"):
        read_libsvm(written(tmp_path, b"# nothing\n\n"))
    for name in ("a.gz", "a.bz2", "a.xz"):
        with pytest.raises(FileError, match=f"{name} is damaged or not what its ending says"):
            read_libsvm(written(tmp_path, TEXT, name))
    with pytest.raises(FileError, match="b.xz is damaged"):
        read_libsvm(written(tmp_path, lzma.compress(TEXT * 1000)[:-30], "b.xz"))


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 30), d=st.integers(1, 20))
@settings(max_examples=25, deadline=None)
def test_what_scikit_learn_writes_is_read_back(tmp_path_factory, seed, n, d):
    X = random_sparse(n, d, density=0.3, format="csr", random_state=seed)
    y = np.random.default_rng(seed).normal(size=n)
    path = tmp_path_factory.mktemp("libsvm") / "data"
    dump_svmlight_file(X, y, str(path), zero_based=False)
    X_read, y_read = read_libsvm(path, n_features=d)
    np.testing.assert_allclose(X_read.toarray(), X.toarray(), rtol=1e-14)
    np.testing.assert_allclose(y_read, y, rtol=1e-14)
    with open(path, "rb") as lines:
        assert [wrong_with(line) for line in lines] == [None] * n
