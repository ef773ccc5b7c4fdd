"""Folders and files for the tests of the command line."""

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_breast_cancer
from sklearn.preprocessing import StandardScaler


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cancer(folder):
    """A file of two classes, labels -1 and 1."""
    X, y = load_breast_cancer(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[:200], np.where(y[:200] == 1, 1, -1)
    dump_svmlight_file(X, y, "cancer", zero_based=False)
    return X, y


@pytest.fixture
def people(folder):
    """A table of numbers and texts: rich people live in Rome."""
    rng = np.random.default_rng(0)
    age, town = rng.integers(20, 70, 80), rng.choice(["Oslo", "Rome", "Bern"], 80)
    rich = np.where((town == "Rome") == (age < 60), "yes", "no")
    lines = [f"{a},{t},{r},{number}" for number, (a, t, r) in enumerate(zip(age, town, rich))]
    (folder / "people.csv").write_text("\n".join(["age,town,rich,number", *lines]) + "\n")
    return age, town, rich
