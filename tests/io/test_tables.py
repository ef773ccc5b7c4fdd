"""Tables, their preparation, NumPy's files and strings: what becomes of them, and sentences where they are wrong."""

import gzip
import json

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from widemargin.io import FileError, Preparation, Table, read_arrays, read_fasta, read_strings, read_table

pytest.importorskip("pyarrow")


def written(tmp_path, text, name="data.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# ---- tables ----


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_columns_are_numbers_or_texts_whatever_the_separator(tmp_path, separator):
    text = 'age,"my town",x\r\n31,"Oslo, N",1e3\r\n 47 ,Rome,-2\r\n\r\n'.replace(",", separator)
    text = text.replace(f"Oslo{separator}", "Oslo,")
    table = read_table(written(tmp_path, text))
    assert list(table.columns) == ["age", "my town", "x"]
    assert table.columns["age"].tolist() == [31.0, 47.0]
    assert table.columns["my town"].tolist() == ["Oslo, N", "Rome"]
    assert table.columns["x"].tolist() == [1000.0, -2.0]


def test_compressed_without_header_and_columns_kept_as_texts(tmp_path):
    path = written(tmp_path, gzip.compress(b"1,01\n2,02\n"), "a.csv.gz")
    table = read_table(path, "csv", header=False, texts=["2"])
    assert table.columns["1"].tolist() == [1.0, 2.0]
    assert table.columns["2"].tolist() == ["01", "02"]
    assert (table.resolve("1"), table.resolve("-1")) == ("1", "2")


def test_a_column_is_numbers_only_if_every_cell_is(tmp_path):
    late = "x\n" + "1\n" * 200_000 + "2.5\n"  # far beyond the first block a reader may look at
    assert read_table(written(tmp_path, late)).columns["x"][-1] == 2.5
    mixed = read_table(written(tmp_path, "x\n1\nb\n2\n"))
    assert mixed.columns["x"].tolist() == ["1", "b", "2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "data.csv is empty"),
        (b"x,y\n", "data.csv holds no rows"),
        (b"x,x\n1,2\n", "line 1: two columns are called 'x'"),
        (b"x,y\n1,2\n3\n", "line 3: 1 cells, expected 2"),
        (b"x,y\n1,2\n\n3,4,5\n", "line 4: 3 cells, expected 2"),
        (b'x,y\n1,2\n"3,4\n', "data.csv, line 3"),
        (b"x,y\n1,\xff\n", "line 2: bytes that are no UTF-8"),
        (b"x\n" + b"1\n" * 30 + b"l\n", "line 32, column 'x': 'l' is not a number, as 30 of 31"),
    ],
)
def test_wrong_tables(tmp_path, text, message):
    with pytest.raises(FileError, match=message):
        read_table(written(tmp_path, text))


@given(data=st.binary(max_size=80))
@settings(max_examples=150)
def test_any_bytes_give_a_table_or_a_sentence(tmp_path, data):
    path = tmp_path / "data.csv"
    path.write_bytes(data)
    for kind in ("csv", "tsv", "parquet", "arrow"):
        try:
            table = read_table(path, kind)
        except FileError as error:
            assert "data.csv" in str(error)
        else:
            assert len({len(column) for column in table.columns.values()}) == 1


# ---- preparation ----


def table(**columns):
    return Table(
        "people",
        {name: np.array(cells, object if isinstance(cells[0], str) else float) for name, cells in columns.items()},
    )


def test_preparation_comes_back_from_json_and_gives_the_same_features():
    training = table(
        age=[20, 30, 40], town=["Oslo", "Rome", "Oslo"], zip=[7, 8, 7], y=["a", "b", "a"], name=["p", "q", "r"]
    )
    for scaling, age in (("none", [20, 30, 40]), ("minmax", [0, 0.5, 1]), ("standard", [-(1.5**0.5), 0, 1.5**0.5])):
        fitted = Preparation.fit(training, "y", scaling, categorical=["zip"], drop=["name"])
        again = Preparation.from_plain(json.loads(json.dumps(fitted.as_plain())))
        assert again == fitted
        X, notes = again.matrix(training)
        np.testing.assert_allclose(X, np.column_stack([age, [1, 0, 1], [0, 1, 0], [1, 0, 1], [0, 1, 0]]), atol=1e-15)
        assert notes == ["people has columns the model does not use, ignored: name."]
        assert again.feature_names == ["age", "town=Oslo", "town=Rome", "zip=7", "zip=8"]
        assert again.targets(training).tolist() == ["a", "b", "a"]


def test_many_categories_become_a_sparse_matrix():
    words = [f"w{number}" for number in range(50)]
    training = table(word=words, x=list(range(50)))
    X, _ = Preparation.fit(training, None).matrix(training)
    assert sp.issparse(X)
    order = [sorted(words).index(word) for word in words]
    np.testing.assert_array_equal(X.toarray(), np.column_stack([np.eye(50)[order], np.arange(50)]))


def test_a_constant_column_is_not_divided_by_zero():
    training = table(x=[3, 3], y=[1, 2])
    for scaling in ("standard", "minmax"):
        X, _ = Preparation.fit(training, "y", scaling).matrix(training)
        np.testing.assert_array_equal(X, [[0.0], [0.0]])


@pytest.mark.parametrize(
    ("columns", "new", "message"),
    [
        ({"x": [1, 2]}, {"z": [1, 2]}, "people has no column 'x'"),
        ({"x": [1, 2]}, {"x": ["a", "b"]}, "column 'x' holds texts such as 'a', but the model was trained on numbers"),
        ({"x": [1, 2]}, {"x": [1, np.nan]}, "row 2, column 'x' is empty, expected a number"),
        ({"x": [1, 2]}, {"x": [np.inf, 1]}, "row 1, column 'x' is infinite"),
        ({"x": ["a", "b"]}, {"x": ["a", None]}, "row 2, column 'x' is empty, expected a text"),
        ({"x": [1, 2], "y": [1, 2]}, {"x": [1, 2], "y": [np.nan, 1]}, "row 1: no target in column 'y'"),
    ],
)
def test_new_tables_that_do_not_fit(columns, new, message):
    preparation = Preparation.fit(table(**columns), "y" if "y" in columns else None)
    with pytest.raises(FileError, match=message):
        preparation.matrix(table(**new))
        preparation.targets(table(**new))


# ---- NumPy's files ----


def test_npz_and_npy(tmp_path):
    X, y = np.arange(6.0).reshape(3, 2), np.array(["a", "b", "a"])
    np.savez(tmp_path / "a.npz", data=X, labels=y, extra=np.ones(2))
    found = read_arrays(tmp_path / "a.npz")
    np.testing.assert_array_equal(found[0], X)
    assert found[1].tolist() == ["a", "b", "a"]
    assert read_arrays(tmp_path / "a.npz", target="labels")[1].tolist() == ["a", "b", "a"]
    np.save(tmp_path / "a.npy", X.astype(np.int8))
    X_found, y_found = read_arrays(tmp_path / "a.npy", target="1")
    np.testing.assert_array_equal(X_found, X[:, 1:])
    np.testing.assert_array_equal(y_found, X[:, 0])
    sp.save_npz(tmp_path / "s.npz", sp.csr_matrix(X))
    np.testing.assert_array_equal(read_arrays(tmp_path / "s.npz")[0].toarray(), X)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.ones(3)}, r"shape \(3,\), expected rows and columns"),
        ({"X": np.ones((2, 2)), "y": np.ones(3)}, r"targets have the shape \(3,\), expected \(2,\)"),
        ({"X": np.array([[1.0, np.nan]])}, "row 1 column 2: a value is nan or infinite"),
        ({"X": np.array([["a"]])}, "expected numbers"),
        ({"A": np.ones((2, 2))}, "holds the arrays A, expected X and y"),
        ({"X": np.array([[object()]], object)}, "holds Python objects, which are not read for safety"),
        ({"data": np.ones(1), "indices": np.array([9]), "indptr": np.array([0, 1]), "shape": np.array([1, 2])}, "CSR"),
    ],
)
def test_wrong_arrays(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(FileError, match=message):
        read_arrays(tmp_path / "a.npz")


@given(data=st.binary(max_size=100), head=st.sampled_from([b"", b"PK\x03\x04", b"\x93NUMPY\x01\x00", b"PK\x05\x06"]))
@settings(max_examples=150)
def test_any_bytes_give_arrays_or_a_sentence(tmp_path, data, head):
    path = tmp_path / "data.npz"
    path.write_bytes(head + data)
    with pytest.raises(FileError, match="data.npz"):
        read_arrays(path)


# ---- strings ----


def test_names_of_columns_may_have_quoted_line_breaks(tmp_path):
    path = tmp_path / "names.csv"
    path.write_bytes(b'\n"age\nin years";"town; or\r\ncity";y\n31;Oslo;1\n47;;0\n')
    table = read_table(path)
    assert list(table.columns) == ["age\nin years", "town; or\r\ncity", "y"]
    assert table.columns["age\nin years"].tolist() == [31.0, 47.0] and table.columns["y"].tolist() == [1.0, 0.0]
    assert table.place(1) == "line 6"
    path.write_bytes(b'"age\n1,2\n')
    with pytest.raises(FileError, match="line 2: unexpected end of data"):
        read_table(path)
    path.write_bytes(b'"a\nb",y\n\n')
    with pytest.raises(FileError, match="holds no rows"):
        read_table(path)


def test_fasta_labels_in_the_header_or_as_its_last_word(tmp_path):
    path = written(tmp_path, ">a label=+1 x\nAC\nGT\n\n>b LABEL = -1\r\nTT\r\n", "a.fa")
    strings, labels = read_fasta(path)
    assert (strings, labels.tolist()) == (["ACGT", "TT"], [1.0, -1.0])
    assert read_fasta(written(tmp_path, ">a EI\nAC\n>b IE\nTT\n", "b.fa"))[1].tolist() == ["EI", "IE"]


def test_one_string_per_line(tmp_path):
    strings, labels = read_strings(written(tmp_path, "ham\tsee you, ok?\nspam\tWIN é now\n", "sms.txt"))
    assert (strings, labels.tolist()) == (["see you, ok?", "WIN é now"], ["ham", "spam"])
    assert read_strings(written(tmp_path, "1 AC GT\n2 T\n", "dna.txt"))[0] == ["AC GT", "T"]


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (read_fasta, "AC\n>a 1\n", "line 1, column 1: expected a FASTA header"),
        (read_fasta, ">a 1\n>b 2\nAC\n", "line 2: the header before has no sequence"),
        (read_fasta, ">\nAC\n", "line 1, column 2: no label in the header"),
        (read_fasta, "", "holds no sequences"),
        (read_strings, "1\tAC\nAC\n", "line 2, column 1: expected a label, a tab and a string"),
        (read_strings, "\n", "holds no strings"),
        (read_strings, b"1\tAC\n2\tA\xffC\n", "line 2, column 4: bytes that are no UTF-8"),
    ],
)
def test_wrong_strings(tmp_path, read, text, message):
    with pytest.raises(FileError, match=message):
        read(written(tmp_path, text, "a.txt"))


@given(text=st.text(max_size=60))
@settings(max_examples=150)
def test_any_text_gives_strings_or_a_sentence(tmp_path, text):
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    for read in (read_fasta, read_strings):
        try:
            strings, labels = read(path)
        except FileError as error:
            assert "a.txt" in str(error)
        else:
            assert len(strings) == len(labels) > 0


# ---- damage ----


@pytest.fixture(scope="module")
def whole_files(tmp_path_factory):
    """Bytes of small files in formats that other libraries read for us."""
    from pyarrow import feather, parquet
    from pyarrow import table as arrow_table

    folder = tmp_path_factory.mktemp("whole")
    np.savez(folder / "a.npz", X=np.ones((2, 2)), y=np.ones(2))
    np.savez_compressed(folder / "b.npz", X=np.ones((2, 2)), y=np.ones(2))
    columns = arrow_table({"x": [1.0, 2.0], "town": ["Oslo", "Rome"]})
    parquet.write_table(columns, folder / "a.parquet")
    feather.write_feather(columns, folder / "a.arrow")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@given(place=st.floats(0, 1, exclude_max=True), mask=st.integers(1, 255), name=st.sampled_from(["a.npz", "b.npz"]))
@settings(max_examples=200)
def test_a_flipped_byte_in_an_npz_file_is_a_sentence_at_most(tmp_path, whole_files, place, mask, name):
    data = bytearray(whole_files[name])
    data[int(place * len(data))] ^= mask
    (tmp_path / name).write_bytes(data)
    try:
        X, _ = read_arrays(tmp_path / name)
    except FileError as error:
        assert name in str(error)
    else:
        assert X.ndim == 2


@pytest.mark.parametrize(("offset", "mask"), [(6, 0x20), (6, 0x01), (8, 0x63), (4, 0xFF)])
def test_flags_and_methods_zip_does_not_know(tmp_path, whole_files, offset, mask):
    data = bytearray(whole_files["a.npz"])
    data[offset] ^= mask  # in the first local header: flags, method, version
    data[data.find(b"PK\x01\x02") + offset + 2] ^= mask  # and in the directory
    with pytest.raises(FileError, match="a.npz is not a file of NumPy, or it is damaged"):
        read_arrays(written(tmp_path, bytes(data), "a.npz"))


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_truncated_and_flipped_tables(tmp_path, whole_files, name):
    whole = whole_files[name]
    rng = np.random.default_rng(0)
    for _ in range(150):
        data = bytearray(whole[: rng.integers(1, len(whole) + 1)])
        data[rng.integers(len(data))] ^= int(rng.integers(1, 256))
        try:
            read_table(written(tmp_path, bytes(data), name))
        except FileError as error:
            assert name in str(error)


@pytest.mark.parametrize("ending", ["arrow", "parquet"])
def test_two_arrow_columns_of_one_name_are_refused(tmp_path, ending):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    table = pyarrow.Table.from_arrays([pyarrow.array([1.0, 2.0]), pyarrow.array([3.0, 4.0])], ["a", "a"])
    path = tmp_path / f"twice.{ending}"
    (feather.write_feather if ending == "arrow" else parquet.write_table)(table, str(path))
    with pytest.raises(FileError, match="two columns are called 'a'"):
        read_table(path)


@pytest.mark.parametrize("ending", ["arrow", "parquet"])
def test_texts_of_arrow_are_read_also_as_codes_and_with_gaps(tmp_path, ending):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    words = pyarrow.chunked_array([["x", None], ["y", "x"], []], pyarrow.string())
    table = pyarrow.table({"plain": words, "codes": words.dictionary_encode(), "large": words.cast("large_string")})
    path = tmp_path / f"words.{ending}"
    (feather.write_feather if ending == "arrow" else parquet.write_table)(table, str(path))
    for cells in read_table(path).columns.values():
        assert cells.tolist() == ["x", None, "y", "x"]


def test_a_parquet_file_of_very_many_equal_rows_is_refused(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    monkeypatch.setattr("widemargin.io.raw_bytes.LEAST_LIMIT", 1 << 18)
    path = tmp_path / "many.parquet"
    parquet.write_table(pyarrow.table({"a": np.zeros(1_000_000)}), str(path))
    with pytest.raises(FileError, match="unpack it yourself"):
        read_table(path)


@pytest.mark.parametrize("text", ['size 5",y\n1,2\n3,4\n5,3\n6,7\n', 'width ("),y\n1,2\n3,4\n5,3\n6,7\n'])
def test_an_inch_sign_in_a_name_opens_no_quoted_name(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    assert len(read_table(tmp_path / "t.csv")) == 4
