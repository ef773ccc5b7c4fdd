"""Any format of data through the commands, compared with the Python interface on the same numbers."""

import json

import numpy as np
import pytest
from scipy.sparse import csr_matrix, save_npz
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import widemargin
from widemargin.cli.main import main
from widemargin.io import load

TRAIN = ["train", "people.csv", "--target", "rich", "--drop", "number", "-c", "10", "-q"]


def by_hand(people, scale):
    age, town, rich = people
    numbers = age[:, None].astype(float)
    if scale:
        numbers = StandardScaler().fit_transform(numbers)
    return np.hstack([numbers, OneHotEncoder(sparse_output=False).fit_transform(town[:, None])]), rich


@pytest.mark.parametrize("scale", [False, True])
def test_a_table_becomes_the_features_one_would_make_by_hand(people, scale, capsys):
    X, y = by_hand(people, scale)
    assert main([*TRAIN, *(["--scale", "standard"] if scale else [])]) == 0
    ours = widemargin.SVC(C=10, gamma="auto").fit(X, y)
    model = load("people.csv.model")
    np.testing.assert_allclose(model.decision_function(X), ours.decision_function(X), atol=1e-9)
    assert main(["predict", "people.csv", "people.csv.model", "--json"]) == 0
    given = json.loads(capsys.readouterr().out)
    assert given["answers"] == ours.predict(X).tolist()
    assert given["accuracy"] == ours.score(X, y)
    assert main(["verify", "people.csv.model", "people.csv", "-q"]) == 0


def test_new_tables_may_have_other_columns_in_another_order(people, folder, capsys):
    assert main([*TRAIN, "--scale", "standard"]) == 0
    (folder / "new.tsv").write_text("town\thobby\tage\nRome\tchess\t30\nParis\tgolf\t30\n")
    assert main(["predict", "new.tsv", "people.csv.model", "--json"]) == 0
    given = json.loads(capsys.readouterr().out)
    age = people[0]
    X = np.array([[(30 - age.mean()) / age.std(), 0, 0, 1], [(30 - age.mean()) / age.std(), 0, 0, 0]])
    assert given["answers"] == load("people.csv.model").predict(X).tolist()
    assert "accuracy" not in given
    assert any("columns the model does not use, ignored: hobby" in note for note in given["notes"])
    assert any("'Paris', count as none" in note for note in given["notes"])
    (folder / "short.csv").write_text("town\nRome\n")
    assert main(["predict", "short.csv", "people.csv.model"]) == 2
    assert "short.csv has no column 'age', which the model was trained on" in capsys.readouterr().err


def test_parquet_and_arrow_equal_csv(people, folder):
    pytest.importorskip("pyarrow")
    from pyarrow import csv, feather, parquet

    table = csv.read_csv("people.csv")
    parquet.write_table(table, "people.parquet")
    feather.write_feather(table, "people.arrow")
    X, _ = by_hand(people, False)
    assert main(TRAIN) == 0
    expected = load("people.csv.model").decision_function(X)
    for name in ("people.parquet", "people.arrow"):
        assert main([*TRAIN[:1], name, *TRAIN[2:]]) == 0
        np.testing.assert_array_equal(load(f"{name}.model").decision_function(X), expected)


def test_numpy_files(cancer, capsys):
    X, y = cancer
    np.savez("cancer.npz", X=X, y=y)
    np.save("cancer.npy", np.column_stack([X, y]))
    save_npz("sparse.npz", csr_matrix(X))
    assert main(["train", "cancer", "-q"]) == 0
    expected = load("cancer.model").predict(csr_matrix(X))
    assert main(["train", "cancer.npz", "-q"]) == 0
    np.testing.assert_array_equal(load("cancer.npz.model").predict(X), expected)
    assert main(["train", "cancer.npy", "--target", "-1", "-q"]) == 0
    np.testing.assert_array_equal(load("cancer.npy.model").predict(X), expected)
    assert main(["predict", "cancer.npy", "cancer.npy.model", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] == np.mean(expected == y)
    assert main(["train", "sparse.npz"]) == 2
    assert "sparse.npz has no labels" in capsys.readouterr().err
    assert main(["train", "sparse.npz", "-s", "oneclass", "-q"]) == 0


def test_strings_reach_string_kernels(folder, capsys):
    strings = pytest.importorskip("widemargin.kernels.strings")
    rng = np.random.default_rng(0)
    lines, words, labels = [], [], []
    for number in range(40):
        label = number % 2
        word = "".join(rng.choice(list("ACGT"), 30)) + "ACACAC" * label
        words.append(word)
        labels.append(label)
        lines.append(f">s{number} label={label}\n{word[:20]}\n{word[20:]}\n")
    (folder / "dna.fa").write_text("".join(lines))
    (folder / "dna.txt").write_text("".join(f"{label}\t{word}\n" for label, word in zip(labels, words)))
    ours = widemargin.SVC(kernel=strings.Spectrum(3)).fit(words, labels)
    for arguments in (["dna.fa"], ["dna.txt", "-f", "strings"]):
        assert main(["train", *arguments, "-t", "spectrum", "-d", "3", "-q", "-o", "dna.model"]) == 0
        np.testing.assert_allclose(load("dna.model").decision_function(words), ours.decision_function(words), atol=1e-9)
    assert main(["predict", "dna.fa", "dna.model", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["answers"] == ours.predict(words).tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "people.csv"], "say which column is to be predicted, --target COLUMN; its columns are age, town"),
        (["train", "people.csv", "--target", "income"], "has no column 'income': its columns are age, town, rich"),
        (["train", "people.csv", "--target", "Ritch"], "no column 'Ritch': did you mean 'rich'? Its columns are age"),
        (["train", "wide.csv"], "c28, c29, diagnosis."),
        (["train", "wide.csv", "--target", "y"], "c28, c29, diagnosis."),
        (["train", "real.csv", "--target", "y"], "real.csv has targets such as 0.5, which are no classes: this looks"),
        (["train", "hollow.csv", "--target", "y", "--impute"], "'x' is empty throughout: leave it out with --drop 'x'"),
        (["train", "hollow.csv", "--target", "y", "--drop-missing"], "hollow.csv has an empty cell in every row"),
        (["train", "torn.csv", "--target", "y", "--impute"], "torn.csv, line 3: no target in column 'y': fill it in"),
        (["train", "people.csv", "-f", "libsvm", "--impute"], "--impute, --drop-missing and --scale are for tables"),
        (["train", "people.csv", "--target", "rich", "-s", "svr"], "texts such as 'yes'"),
        (["train", "slip.csv", "--target", "y"], "slip.csv, line 21, column 'x': '1O' is not a number, as 19 of 20"),
        (["train", "gap.csv", "--target", "y"], "gap.csv, line 3, column 'x' is empty, expected a number"),
        (["train", "ragged.csv", "--target", "y"], "ragged.csv, line 3: 3 cells, expected 2"),
        (["train", "people.csv", "-f", "libsvm"], "people.csv, line 1, column 1: the label 'age,town,rich,number'"),
        (["train", "people.csv", "-f", "parquet", "--target", "rich"], "people.csv is not a parquet file"),
        (["train", "people.csv", "-f", "npz"], "people.csv is not a file of NumPy"),
        (
            ["train", "people.csv", "-f", "fasta", "-t", "spectrum"],
            "people.csv, line 1, column 1: expected a FASTA header",
        ),
        (["train", "empty.csv", "--target", "y"], "empty.csv is empty"),
    ],
)
def test_wrong_data_is_a_sentence(people, folder, arguments, message, capsys):
    (folder / "slip.csv").write_text("x,y\n" + "1,0\n2,1\n" * 9 + "3,0\n1O,1\n")
    names = [*(f"c{place}" for place in range(30)), "diagnosis"]
    (folder / "wide.csv").write_text(",".join(names) + "\n" + "1," * 30 + "1\n")
    (folder / "real.csv").write_text("x,y\n1,0\n2,0.5\n")
    (folder / "hollow.csv").write_text("x,y\n,0\n,1\n")
    (folder / "torn.csv").write_text("x,y\n1,0\n2,\n")
    (folder / "gap.csv").write_text("x,y\n1,0\n,1\n")
    (folder / "ragged.csv").write_text("x,y\n1,0\n1,2,3\n")
    (folder / "empty.csv").write_text("")
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said


def test_data_of_another_kind_than_the_model_s_is_refused(people, cancer, folder, capsys):
    assert main(TRAIN) == 0
    assert main(["train", "cancer", "-q"]) == 0
    assert main(["predict", "people.csv", "cancer.model"]) == 2
    assert (
        "people.csv is read as csv, a kind of table, but the model was trained on a matrix" in capsys.readouterr().err
    )
    (folder / "people.csv").rename("people")
    assert main(["predict", "people", "people.csv.model", "-q"]) == 0  # no ending: read as the training data was
    assert main(["predict", "cancer", "people.csv.model", "-f", "libsvm"]) == 2
    assert "cancer is read as libsvm, a kind of matrix, but the model was trained on a table" in capsys.readouterr().err
    assert main(["train", "cancer", "-t", "spectrum", "-f", "libsvm"]) == 2
    assert "but the kernel is spectrum: strings need one of spectrum, blended" in capsys.readouterr().err


def test_new_arrays_may_come_without_their_targets(cancer, capsys):
    X, y = cancer
    np.save("cancer.npy", np.column_stack([y, X]))
    np.save("new.npy", X)
    np.savez("named.npz", X=X, answer=y)
    np.savez("new.npz", X=X)
    assert main(["train", "cancer.npy", "--target", "1", "-q"]) == 0
    expected = load("cancer.npy.model").predict(X).tolist()
    assert main(["train", "named.npz", "--target", "answer", "-q"]) == 0
    for new, model in (("new.npy", "cancer.npy.model"), ("new.npz", "named.npz.model")):
        assert main(["predict", new, model, "--json"]) == 0
        given = json.loads(capsys.readouterr().out)
        assert given["answers"] == expected
        assert "accuracy" not in given
