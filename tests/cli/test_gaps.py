"""Tables with empty cells: filled, or their rows left out, and the model file remembers which."""

import json

import numpy as np
import pytest

import widemargin
from widemargin.cli.main import main
from widemargin.io import load

GAPS = {3: ("age", ""), 10: ("town", "NA"), 20: ("age", "?"), 21: ("town", ""), 33: ("rich", "")}
TRAIN = ["train", "gaps.csv", "--target", "rich", "--scale", "standard", "-c", "10"]


@pytest.fixture
def gaps(people, folder):
    """The people, some cells empty; ages, towns, answers, and which rows are complete."""
    age, town, rich = (column.astype(object) for column in people)
    table = {"age": age, "town": town, "rich": rich}
    for row, (column, word) in GAPS.items():
        table[column][row] = word
    lines = [",".join(map(str, cells)) for cells in zip(*table.values())]
    (folder / "gaps.csv").write_text("\n".join(["age,town,rich", *lines]) + "\n")
    return age, town, rich, ~np.isin(np.arange(80), list(GAPS))


def features(age, town):
    """Scaled ages and 0/1 columns, made by hand."""
    age = age.astype(float)
    towns = np.array(["Bern", "Oslo", "Rome"])
    return np.column_stack([(age - age.mean()) / age.std(), town[:, None] == towns]).astype(float)


def test_rows_with_gaps_are_left_out_of_training_and_of_the_certificate(gaps, capsys):
    age, town, rich, whole = gaps
    assert main([*TRAIN, "--drop-missing"]) == 0
    assert "gaps.csv: 5 of 80 rows left out, with empty cells." in capsys.readouterr().err
    X, y = features(age[whole], town[whole]), rich[whole].astype(str)
    ours = widemargin.SVC(C=10, gamma="auto").fit(X, y)
    np.testing.assert_allclose(load("gaps.csv.model").decision_function(X), ours.decision_function(X), atol=1e-9)
    assert main(["verify", "gaps.csv.model", "gaps.csv"]) == 0
    assert "5 of 80 rows left out" in capsys.readouterr().err
    assert main(["cv", *TRAIN[1:], "--drop-missing", "-q"]) == 0
    assert main(["predict", "gaps.csv", "gaps.csv.model"]) == 2  # one answer per row, or none
    assert (
        "line 5, column 'age' is empty, expected a number: fill it in, or leave the row out; a model that was trained "
        "with --impute fills it in." in capsys.readouterr().err
    )


def test_rows_without_a_target_are_answered(gaps, folder, capsys):
    assert main([*TRAIN, "--impute", "--drop-missing", "-q"]) == 0
    assert main(["predict", "gaps.csv", "gaps.csv.model"]) == 0
    said = capsys.readouterr()
    assert len(said.out.split()) == 80
    assert "gaps.csv: 1 row without a target; the answers are not compared." in said.err
    (folder / "new.csv").write_text("age,town,rich\n30,Rome,\n65,Rome,\n")
    assert main(["predict", "new.csv", "gaps.csv.model"]) == 0
    assert capsys.readouterr().out.split() == ["yes", "no"]


def test_gaps_are_filled_in_training_and_in_new_tables(gaps, folder, capsys):
    age, town, rich, whole = gaps
    assert main([*TRAIN, "--impute", "--drop-missing"]) == 0  # the row without a target is left out
    said = capsys.readouterr().err
    assert "gaps.csv: 4 empty cells filled in." in said and "1 of 80 rows left out" in said
    kept = rich != ""
    age, town = age[kept], town[kept]
    median = np.median(age[(age != "") & (age != "?")].astype(float))
    names, counts = np.unique(town[(town != "") & (town != "NA")].astype(str), return_counts=True)
    usual = names[np.argmax(counts)]
    age[(age == "") | (age == "?")] = median
    town[(town == "") | (town == "NA")] = usual
    X = features(age, town)
    ours = widemargin.SVC(C=10, gamma="auto").fit(X, rich[kept].astype(str))
    np.testing.assert_allclose(load("gaps.csv.model").decision_function(X), ours.decision_function(X), atol=1e-9)
    assert main(["verify", "gaps.csv.model", "gaps.csv", "-q"]) == 0
    (folder / "new.csv").write_text(f"town,age\n,\n{usual},{median}\n")
    assert main(["predict", "new.csv", "gaps.csv.model", "--json", "--decision"]) == 0
    given = json.loads(capsys.readouterr().out)
    assert given["decision"][0] == given["decision"][1]
    assert "new.csv: 2 empty cells filled in." in given["notes"]


def test_numbers_as_categories_are_filled_with_the_most_frequent(folder, capsys):
    (folder / "codes.csv").write_text("code,y\n" + "1,0\n2,1\n" * 8 + ",1\n2,1\n")
    assert main(["train", "codes.csv", "--target", "y", "--categorical", "code", "--impute", "-q"]) == 0
    (folder / "new.csv").write_text('code\n""\n2\n1\n')
    assert main(["predict", "new.csv", "codes.csv.model"]) == 0
    assert capsys.readouterr().out.split() == ["1", "1", "0"]
