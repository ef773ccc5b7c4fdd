"""Data of the searches: what `benchmarks.peers.datasets` reads, cut and scaled as each task says.

Grids       [-1, 1] per feature over the rows used, also where a file holds zeros and ones
covtype     class 2 against the rest, mean 0 and variance 1 over the whole file, a prefix of one fixed permutation
Regression  features in [-1, 1], targets of mean 0 and variance 1
TWENTY      sets of 150 to 5,000 rows; half to train, half to test, stratified; [-1, 1] by the training half
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler

from benchmarks.peers import datasets
from benchmarks.peers.datasets import Data, columns, libsvm, open_file, scaled

MOST_ROWS = 5000  # of a set that is split into halves
LEAST_OF_A_CLASS = 10  # rows in a subset, so that each fold has some
Reader = Callable[[Path], Data]


class Halves(NamedTuple):
    """A training and a test set."""

    X: NDArray
    y: NDArray
    X_test: NDArray
    y_test: NDArray


def load(name: str, folder: Path | None, rows: int | None = None) -> Data:
    """A set of READERS, or about `rows` of its rows, evenly spread over each class."""
    if folder is None:
        raise datasets.MissingData(f"{name} is read from files: give their folder by --data.")
    X, y = READERS[name](folder)
    if rows is None or rows >= len(y):
        return X, y
    keep = np.sort(np.concatenate([_spread(own, len(own) * rows // len(y)) for own in _classes(y)]))
    return X[keep], y[keep]


def _classes(y: NDArray) -> list[NDArray]:
    """Places of the rows of each class; of all rows if these are targets of a regression."""
    if not np.array_equal(y, np.rint(y)):
        return [np.arange(len(y))]
    return [np.flatnonzero(y == label) for label in np.unique(y)]


def _spread(places: NDArray, count: int) -> NDArray:
    """About `count` of them, evenly spread, but enough for each fold to have some."""
    return places[np.linspace(0, len(places) - 1, min(len(places), max(count, LEAST_OF_A_CLASS))).astype(int)]


def load_halves(name: str, folder: Path | None, rows: int | None = None) -> Halves:
    """A set of TWENTY, split and scaled."""
    if folder is None:
        raise datasets.MissingData(f"{name} is read from files: give their folder by --data.")
    X, y = TWENTY[name](folder)
    X = X.toarray() if sp.issparse(X) else X
    half = min(rows or MOST_ROWS, len(y)) // 2
    X, X_test, y, y_test = train_test_split(X, y, train_size=half, test_size=half, stratify=y, random_state=0)
    scaling = MinMaxScaler((-1.0, 1.0)).fit(X)
    return Halves(scaling.transform(X), y, scaling.transform(X_test), y_test)


def _of_peers(name: str) -> Reader:
    return lambda folder: datasets.load(name, folder)


def _prefix(name: str, rows: int) -> Reader:
    """The first rows, dense, features to [-1, 1] over them."""

    def read(folder: Path) -> Data:
        X, y = datasets.load(name, folder)
        first = X[:rows]
        return scaled(first.toarray() if sp.issparse(first) else first, "symmetric"), y[:rows]

    return read


@functools.lru_cache(maxsize=1)
def _covtype(folder: Path) -> Data:
    """The whole file, kept: several tasks are parts of it."""
    return columns("covtype/covtype.data", ",", "standard")(folder)


def _covtype_prefix(rows: int) -> Reader:
    def read(folder: Path) -> Data:
        X, y = _covtype(folder)
        order = np.random.RandomState(0).permutation(len(y))[:rows]  # noqa: NPY002 - the permutation others can repeat
        return np.ascontiguousarray(X[order]), np.where(y[order] == 2, 1.0, -1.0)

    return read


def _abalone(folder: Path) -> Data:
    X, y = datasets.load("abalone", folder)
    return X, scaled(y[:, None], "standard")[:, 0]


def _table(name: str, label: int) -> Reader:
    """Values separated by commas, the class in column `label`, by name or number."""

    def read(folder: Path) -> Data:
        with open_file(folder, name) as text:
            rows = [line.split(",") for line in text.read().decode("latin-1").split() if line]
        table = np.array(rows)
        return np.delete(table, label, axis=1).astype(float), np.unique(table[:, label], return_inverse=True)[1]

    return read


READERS: dict[str, Reader] = {
    "svmguide1": _of_peers("svmguide1"),
    "a9a-2000": _prefix("a9a", 2000),
    "splice": _of_peers("splice"),
    "satimage": _of_peers("satimage"),
    "ijcnn1-5000": _prefix("ijcnn1", 5000),
    "covtype-1000": _covtype_prefix(1000),
    "covtype-5000": _covtype_prefix(5000),
    "cpusmall": columns("cpusmall/cpu.small.arff", ",", "symmetric", "standard", arff=True),
    "abalone": _abalone,
    "letter": _of_peers("letter"),
    "letter-5000": _prefix("letter", 5000),
    **{name: _of_peers(name) for name in ("a7a", "a7a.t", "a8a", "a8a.t", "w7a", "w7a.t")},
}

TWENTY: dict[str, Reader] = {
    "svmguide1": libsvm("svmguide1/svmguide1", 4),
    "splice": libsvm("splice/splice", 60),
    "satimage": columns("satimage/sat.trn", None, "unit"),
    "a1a": libsvm("a1a/a1a", 123),
    "w1a": libsvm("w1a/w1a", 300),
    "german": libsvm("german.numer/german.numer", 24),
    "heart": libsvm("heart/heart", 13),
    "australian": libsvm("australian/australian", 14),
    "diabetes": libsvm("diabetes/diabetes_scale", 8),
    "svmguide3": libsvm("svmguide3/svmguide3", 22),
    "fourclass": libsvm("fourclass/fourclass", 2),
    "sonar": libsvm("sonar/sonar_scale", 60),
    "spambase": _table("spambase/spambase.data", -1),
    "ionosphere": _table("ionosphere/ionosphere.data", -1),
    "dna": libsvm("dna/dna.scale", 180),
    "optdigits": _table("optdigits/optdigits.tra", -1),
    "wine": _table("wine/wine.data", 0),
    "iris": _table("iris/iris.data", -1),
    "mushrooms": libsvm("mushrooms/mushrooms", 112),
    "ijcnn1": _of_peers("ijcnn1"),
}
