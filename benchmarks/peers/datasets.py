"""Reading and scaling of the benchmark's data: every step fixed here, so that a figure can be measured again.

Files stand as FOLDER/set/file, plain or .xz, .gz, .bz2: LIBSVM text, UCI csv or blank-separated columns, arff, idx
(MNIST) or a tar of messages (20 newsgroups). Three sets are generated and need no folder. Scaling is linear per
feature, over the rows of the file: "unit" to [0, 1], "symmetric" to [-1, 1] (LIBSVM's svm-scale), "standard" to mean 0
and variance 1. Rows are in the order of the file unless a shuffle is named; its seed is SEED.
"""

from __future__ import annotations

import bz2
import functools
import gzip
import io
import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file, make_moons
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer

SEED = 0  # of every shuffle and generated set
OPENERS: dict[str, Callable[..., Any]] = {"": open, ".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}
PLATT_FEATURES = 300
PLATT_SHARE = 0.1  # of the bits are set (Platt 1998, section 3.3)

Data = tuple[Any, NDArray]


class MissingData(Exception):
    """A file of the benchmark is not in the folder given."""


def load(name: str, folder: Path | None, rows: int | None = None) -> Data:
    """X (array or CSR, float64) and y of a set of the table; `rows` keeps a random subset, in the order of the set.

    Generated sets have their size in the name: "moons-10000".
    """
    kind, _, size = name.partition("-")
    if kind in GENERATED:
        X, y = GENERATED[kind](int(size))
    else:
        if folder is None:
            raise MissingData(f"{name} is read from files: give their folder by --data.")
        X, y = READERS[name](folder)
    if rows is not None and rows < len(y):
        keep = np.sort(np.random.default_rng(SEED).permutation(len(y))[:rows])
        X, y = X[keep], y[keep]
        labels, counts = np.unique(y, return_counts=True)
        if len(labels) <= 100:  # classes: a subset may leave one of them a single sample, which no pair can learn from
            enough = np.isin(y, labels[counts > 1])
            X, y = X[enough], y[enough]
    if sp.issparse(X):
        X = sp.csr_matrix(X, dtype=np.float64)
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        X.sort_indices()
    else:
        X = np.ascontiguousarray(X, np.float64)
    return X, np.ascontiguousarray(y, np.float64)


# ---- files


def find(folder: Path, name: str) -> Path:
    """The file of this name, plain or compressed."""
    for path in (folder / (name + ending) for ending in OPENERS):
        if path.exists():
            return path
    raise MissingData(f"{folder / name} does not exist, nor with .xz, .gz or .bz2: give the folder of the sets.")


def open_file(folder: Path, name: str) -> Any:
    """The file of this name, open for reading bytes, decompressed."""
    path = find(folder, name)
    return OPENERS.get(path.suffix, open)(path, "rb")


def libsvm(name: str, n_features: int, sparse: bool = False) -> Callable[[Path], Data]:
    """A reader of LIBSVM text."""

    def read(folder: Path) -> Data:
        with open_file(folder, name) as text:
            X, y = load_svmlight_file(io.BytesIO(text.read()), n_features=n_features)
        return (X if sparse else X.toarray()), y

    return read


def columns(
    name: str, delimiter: str | None, scale: str, target_scale: str = "", arff: bool = False
) -> Callable[[Path], Data]:
    """A reader of numbers in columns, target last."""

    def read(folder: Path) -> Data:
        with open_file(folder, name) as text:
            lines = text.read().decode("latin-1").split("\n")
        lines = [line for line in lines if line.strip() and not (arff and line[0] in "@%")]
        separator = delimiter or " "  # a blank stands for any white space; loadtxt takes ten times as long
        table = np.fromstring(separator.join(lines), sep=separator).reshape(len(lines), -1)
        y = table[:, -1]
        return scaled(table[:, :-1], scale), (scaled(y[:, None], target_scale)[:, 0] if target_scale else y)

    return read


def scaled(X: NDArray, how: str) -> NDArray:
    """Columns of X in the range named; constant columns become the lower end (0 for "standard")."""
    if how == "standard":
        spread = X.std(axis=0)
        return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    least, most = X.min(axis=0), X.max(axis=0)
    unit = (X - least) / np.where(most > least, most - least, 1.0)
    return unit if how == "unit" else 2.0 * unit - 1.0


def _changed(read: Callable[[Path], Data], change: Callable[[Any, NDArray], Data]) -> Callable[[Path], Data]:
    """A reader followed by one more step."""
    return lambda folder: change(*read(folder))


def _one_against_rest(label: float) -> Callable[[Any, NDArray], Data]:
    return lambda X, y: (X, np.where(y == label, 1.0, -1.0))


def _only(*labels: float) -> Callable[[Any, NDArray], Data]:
    return lambda X, y: (X[np.isin(y, labels)], y[np.isin(y, labels)])


def _prefix(count: int) -> Callable[[Any, NDArray], Data]:
    return lambda X, y: (X[:count], y[:count])


def _covtype(count: int | None) -> Callable[[Path], Data]:
    """Class 2 against the rest, features to [0, 1] over all rows, then a prefix of one fixed shuffle."""

    def prefix(folder: Path) -> Data:
        X, y = _whole_covtype(folder)
        order = np.random.default_rng(SEED).permutation(len(y))[:count]
        return X[order], np.where(y[order] == 2, 1.0, -1.0)

    return prefix


@functools.lru_cache(maxsize=1)
def _whole_covtype(folder: Path) -> Data:
    """Kept, since several problems are prefixes of it."""
    return columns("covtype/covtype.data", ",", "unit")(folder)


@functools.lru_cache(maxsize=1)
def _mnist(folder: Path) -> Data:
    """Pixels divided by 255."""
    with (
        open_file(folder, "mnist/train-images-idx3-ubyte") as images,
        open_file(folder, "mnist/train-labels-idx1-ubyte") as y,
    ):
        pixels = np.frombuffer(images.read(), np.uint8, offset=16).reshape(-1, 784)
        return pixels / 255.0, np.frombuffer(y.read(), np.uint8, offset=8).astype(float)


def _newsgroups(folder: Path) -> Data:
    """The training messages, whole; words found in two messages or more; logarithmic tf-idf, rows of norm 1."""
    texts, groups = [], []
    with open_file(folder, "20newsgroups/20news-bydate.tar") as archive, tarfile.open(fileobj=archive) as tar:
        for member in sorted((m for m in tar if m.isfile() and "20news-bydate-train" in m.name), key=lambda m: m.name):
            texts.append(tar.extractfile(member).read().decode("latin-1"))  # type: ignore[union-attr]
            groups.append(member.name.split("/")[-2])
    X = TfidfVectorizer(min_df=2, sublinear_tf=True).fit_transform(texts)
    return X, np.unique(groups, return_inverse=True)[1].astype(float)


def _tfidf(X: Any, y: NDArray) -> Data:
    """Word counts to logarithmic tf-idf, rows of norm 1."""
    return TfidfTransformer(sublinear_tf=True).fit_transform(X), y


_LETTER = libsvm("letter/letter.scale", 16)
_SHUTTLE = columns("shuttle/shuttle.trn", None, "symmetric")
READERS: dict[str, Callable[[Path], Data]] = {
    "a9a": libsvm("a9a/a9a", 123, sparse=True),
    "a9a.t": libsvm("a9a/a9a.t", 123, sparse=True),
    **{name: libsvm(f"{name[:3]}/{name}", 123, sparse=True) for name in ("a7a", "a7a.t", "a8a", "a8a.t")},
    "w7a": libsvm("w7a/w7a", 300, sparse=True),
    "w7a.t": libsvm("w7a/w7a.t", 300, sparse=True),
    "w8a": libsvm("w8a/w8a", 300, sparse=True),
    "ijcnn1": libsvm("ijcnn1/ijcnn1", 22),
    "covtype-10k": _covtype(10_000),
    "covtype-50k": _covtype(50_000),
    "covtype-100k": _covtype(100_000),
    "covtype-all": _covtype(None),
    "letter": _LETTER,
    "letter-A": _changed(_LETTER, _one_against_rest(1)),
    "usps": libsvm("usps/usps", 256),
    "mnist-10k": _changed(_mnist, _prefix(10_000)),
    "mnist-60k": _mnist,
    "mnist-4-9": _changed(_mnist, _only(4, 9)),
    "phishing": libsvm("phishing/phishing", 68, sparse=True),
    "satimage": columns("satimage/sat.trn", None, "symmetric"),
    "shuttle": _SHUTTLE,
    "shuttle-1": _changed(_SHUTTLE, _only(1)),
    "svmguide1": _changed(libsvm("svmguide1/svmguide1", 4), lambda X, y: (scaled(X, "symmetric"), y)),
    "splice": _changed(libsvm("splice/splice", 60), lambda X, y: (scaled(X, "symmetric"), y)),
    "reuters": libsvm("reuters-lasvm/reuters.trn", 8315, sparse=True),
    "20newsgroups": _newsgroups,
    "basehock": _changed(libsvm("newsgroup-pairs/BASEHOCK.libsvm", 4862, sparse=True), _tfidf),
    "pcmac": _changed(libsvm("newsgroup-pairs/PCMAC.libsvm", 3289, sparse=True), _tfidf),
    "cadata": columns("cadata/cal_housing.data", ",", "standard", "standard"),
    "cpusmall": columns("cpusmall/cpu.small.arff", ",", "standard", "standard", arff=True),
    "kin40k-10k": _changed(columns("kin40k/kin40k.csv", ",", "standard", "standard"), _prefix(10_000)),
    "kin40k": columns("kin40k/kin40k.csv", ",", "standard", "standard"),
    "abalone": libsvm("abalone/abalone_scale", 8),
}


# ---- generated


def _moons(n: int) -> Data:
    """Two half circles, noise 0.2."""
    X, y = make_moons(n, noise=0.2, random_state=SEED)
    return X, 2.0 * y - 1.0


def _noise(n: int) -> Data:
    """Random bits with random labels: nothing to learn, every sample a support vector (Platt 1998, section 3.3)."""
    rng = np.random.default_rng(SEED)
    X = rng.random((n, PLATT_FEATURES)) < PLATT_SHARE
    return sp.csr_matrix(X, dtype=np.float64), rng.choice([-1.0, 1.0], n)


def _separable(n: int) -> Data:
    """Random bits labelled by a random hyperplane, points within 1 of it thrown away (Platt 1998, section 3.3)."""
    rng = np.random.default_rng(SEED)
    weight = rng.uniform(-1.0, 1.0, PLATT_FEATURES)
    kept: list[NDArray] = []
    while sum(map(len, kept)) < n:
        X = (rng.random((n, PLATT_FEATURES)) < PLATT_SHARE).astype(float)
        kept.append(X[np.abs(X @ weight) > 1.0])
    X = np.concatenate(kept)[:n]
    return sp.csr_matrix(X), np.where(X @ weight > 0, 1.0, -1.0)


GENERATED: dict[str, Callable[[int], Data]] = {"moons": _moons, "noise": _noise, "separable": _separable}
