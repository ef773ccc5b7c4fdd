"""What a user waits for before the first answer: import, and the first fit without and with the disk cache.

    python -m benchmarks.start_up

Every figure is the median over new processes. What `from widemargin import SVC` costs is timed in a process that has
imported sklearn.svm already. The first fit is SVC on 500 samples of the digits, ten classes, with and without compiled
functions on disk; the second fit in the same process is the price without any of it. Python's byte code is on disk, as
it is after an installation: a process that may not write it parses the package anew, some 0.1 s.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

REPEATS = 3  # processes per figure: a cold fit takes seconds, and its spread is small against the difference shown
ROOT = Path(__file__).resolve().parents[1]

IMPORT = """
import time
began = time.perf_counter(); import sklearn.svm; between = time.perf_counter(); from widemargin import SVC
print(between - began, time.perf_counter() - between)
"""
FIT = """
import time
from sklearn.datasets import load_digits
from widemargin import SVC
X, y = load_digits(return_X_y=True)
X, y = X[:500], y[:500]
for _ in range(2):
    began = time.perf_counter(); SVC(gamma=1e-3).fit(X, y).predict(X); print(time.perf_counter() - began)
"""


def run(script: str, cache: str) -> list[float]:
    """The numbers a script prints in a new process whose disk cache is the given folder."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
    return [float(number) for number in done.stdout.split()]


def median(rows: list[list[float]]) -> list[float]:
    """Column medians."""
    return [statistics.median(column) for column in zip(*rows)]


def main() -> None:
    cold = []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(run(FIT, cache))
    with tempfile.TemporaryDirectory() as cache:
        run(FIT, cache)
        size = sum(path.stat().st_size for path in Path(cache).rglob("*") if path.is_file())
        warm = median([run(FIT, cache) for _ in range(REPEATS)])
        imports = median([run(IMPORT, cache) for _ in range(REPEATS)])
    print("| start-up | seconds |\n|---|---|")
    print(f"| import sklearn.svm | {imports[0]:.2f} |")
    print(f"| from widemargin import SVC, beyond that | {imports[1]:.2f} |")
    print(f"| first fit, empty disk cache (compiles) | {median(cold)[0]:.2f} |")
    print(f"| first fit, full disk cache ({size / 1e6:.1f} MB) | {warm[0]:.2f} |")
    print(f"| second fit in the same process | {warm[1]:.3f} |")


if __name__ == "__main__":
    main()
