"""The page of differences from scikit-learn says what is true."""

import re
from pathlib import Path

import numpy as np
import pytest
import sklearn.svm

import widemargin
from widemargin.estimators.registry import ESTIMATORS, SKLEARN_COUNTERPARTS

PAGE = (Path(__file__).parents[2] / "docs" / "coming-from-scikit-learn.md").read_text(encoding="utf-8")
HEAD, ROWS = (lambda lines: (lines[0], lines[2:]))(
    [line for line in PAGE[PAGE.index("| estimators |") :].splitlines() if line.startswith("|")]
)


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_page_has_every_estimator_once():
    named = re.findall(r"`(\w+)`", " ".join(cells(row)[0] for row in ROWS))
    assert sorted(named) == sorted(ESTIMATORS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: cells(row)[0])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_an_estimator_has(row):
    X = np.random.default_rng(0).normal(size=(40, 3))
    for name in re.findall(r"`(\w+)`", cells(row)[0]):
        model = getattr(widemargin, name)().fit(X, (X[:, 0] > 0).astype(int))
        has = {*dir(model), *model.get_params()}
        for title, cell in zip(cells(HEAD)[1:-1], cells(row)[1:-1], strict=True):
            for attribute in re.findall(r"`(\w+)`", title):
                assert (attribute in has) == cell.startswith("yes"), (name, attribute)
        assert ESTIMATORS[name].in_files == cells(row)[-1].startswith("yes")


@pytest.mark.parametrize("name", SKLEARN_COUNTERPARTS)
def test_defaults_are_equal_except_the_cache(name):
    ours, theirs = (getattr(package, name)().get_params() for package in (widemargin, sklearn.svm))
    assert {parameter for parameter in theirs if ours[parameter] != theirs[parameter]} <= {"cache_size"}
