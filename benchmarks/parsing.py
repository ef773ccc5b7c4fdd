"""Time to read LIBSVM text, beside scikit-learn's `load_svmlight_file`, at equal result.

    python -m benchmarks.parsing DATA_FOLDER [NAME ...]

DATA_FOLDER holds LIBSVM files as w8a/w8a and ijcnn1/ijcnn1, plain or compressed; they are unpacked to a new folder
first, so that both read plain files from memory that the system keeps. The libraries take turns and figures are
medians; the parser is compiled before. Values, indices and labels of both are compared bit for bit.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from benchmarks.peers.datasets import find
from benchmarks.timing import timed
from widemargin.io import read_libsvm
from widemargin.io.raw_bytes import read_bytes

NAMES = ("w8a", "ijcnn1", "a9a", "usps")
REPEATS = 9  # of ours; theirs, ten times slower, is repeated a third as often


def unpacked(folder: Path, name: str, into: Path) -> Path:
    """A plain copy of a data set."""
    plain = into / name
    plain.write_bytes(read_bytes(find(folder, f"{name}/{name}")))
    return plain


def check_equal(path: Path) -> None:
    """Stop if the two do not read the same."""
    (X, y), (theirs, y_theirs) = read_libsvm(path), load_svmlight_file(str(path))
    for ours, other in ((X.data, theirs.data), (X.indices, theirs.indices), (X.indptr, theirs.indptr), (y, y_theirs)):
        np.testing.assert_array_equal(ours, other)
    assert X.shape == theirs.shape


def measure(path: Path) -> str:
    """One row of the table."""
    check_equal(path)
    actions = {
        "all": lambda: read_libsvm(path),
        "one": lambda: read_libsvm(path, n_jobs=1),
        "theirs": lambda: load_svmlight_file(str(path)),
    }
    times: dict[str, list[float]] = {key: [] for key in actions}
    for repeat in range(REPEATS):
        for key, action in actions.items():
            if key != "theirs" or repeat % 3 == 0:
                times[key].append(timed(action).wall)
    every, one, theirs = (statistics.median(times[key]) for key in actions)
    size = path.stat().st_size / 1e6
    return (
        f"| {path.name}, {size:.1f} MB | {every * 1e3:.0f} ms | {one * 1e3:.0f} ms | {theirs * 1e3:.0f} ms | "
        f"{theirs / every:.1f}x | {theirs / one:.1f}x |"
    )


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit("Say where the data are: python -m benchmarks.parsing DATA_FOLDER [NAME ...]")
    print("| file | all threads | one thread | scikit-learn | ratio | ratio, one thread |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[2:] or NAMES:
            print(measure(unpacked(Path(sys.argv[1]), name, Path(folder))), flush=True)


if __name__ == "__main__":
    main()
