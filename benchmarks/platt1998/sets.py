"""The data of the four experiments: adult and web from LIBSVM files, the two artificial sets generated as described.

LIBSVM's files are the encodings that Platt made public: a1a ... a9a and w1a ... w8a have his sizes (adult one row fewer
from a6a on). Where one of them is missing in the folder, rows are drawn from the next larger one at random with a fixed
seed: the files of the web set are sorted by class, so the first rows would not do.

separable   binary vectors of 300 features, a tenth of them 1; weights uniform in [-1, 1]; label +1 where w'x > 1, -1
            where w'x < -1, points in between thrown away
noise       the same vectors with random labels
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin.io import read_libsvm

N_FEATURES = 300
SHARE_OF_ONES = 0.1
SEED = 1998
FILES = {
    "adult": ("a1a", "a2a", "a3a", "a4a", "a5a", "a6a", "a7a", "a8a", "a9a"),
    "web": ("w1a", "w2a", "w3a", "w4a", "w5a", "w6a", "w7a", "w8a"),
}
WIDTH = {"adult": 123, "web": 300}

Data = tuple[sparse.csr_array, NDArray[np.float64], str]


def artificial(kind: str, n: int) -> Data:
    """X, y and where they come from."""
    rng = np.random.default_rng([SEED, n])
    weights = rng.uniform(-1.0, 1.0, N_FEATURES)
    rows, labels = [], []
    missing = n
    while missing > 0:
        X = (rng.random((2 * n, N_FEATURES)) < SHARE_OF_ONES).astype(np.float64)
        if kind == "noise":
            keep, y = np.arange(len(X)), rng.choice([-1.0, 1.0], len(X))
        else:
            output = X @ weights
            keep = np.flatnonzero(np.abs(output) > 1.0)
            y = np.sign(output)
        keep = keep[:missing]
        rows.append(X[keep])
        labels.append(y[keep])
        missing -= len(keep)
    return sparse.csr_array(np.concatenate(rows)), np.concatenate(labels), "generated"


class Published:
    """The subsets of adult or web found in a folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.paths = {}
        for file in FILES[name]:
            for ending in ("", ".xz", ".bz2", ".gz"):
                for path in (folder / file / (file + ending), folder / (file + ending)):
                    if path.is_file():
                        self.paths.setdefault(file, path)
        if FILES[name][-1] not in self.paths:
            raise SystemExit(
                f"{folder} holds no {FILES[name][-1]} (as {FILES[name][-1]}/{FILES[name][-1]}, plain or .xz): "
                "give the folder "
                "of LIBSVM's files by --data, or run the generated sets only with --generated."
            )

    def take(self, number: int, size: int) -> Data:
        """The subset with this number, or `size` rows drawn from the next larger one."""
        files = FILES[self.name]
        for file in files[number:]:
            if file not in self.paths:
                continue
            X, y = read_libsvm(self.paths[file], WIDTH[self.name])
            y = np.where(y > 0, 1.0, -1.0)
            if file == files[number]:
                return sparse.csr_array(X), y, file
            chosen = np.sort(np.random.default_rng([SEED, size]).permutation(len(y))[:size])
            return sparse.csr_array(X[chosen]), y[chosen], f"{size} of {file}"
        raise AssertionError("the largest file is always there")
