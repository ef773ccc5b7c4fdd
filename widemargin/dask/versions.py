"""The versions of a process, and whether those of workers fit: tasks and models are exchanged as pickled objects."""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from pathlib import Path

import widemargin
from widemargin.dask.waits import ClusterError
from widemargin.monitor.user_warning import warn_user

MUST_BE_EQUAL = ("widemargin", "source", "python")


@cache
def versions() -> dict[str, str]:
    """Return the versions that must be equal everywhere, and those that should be."""
    import numba
    import numpy
    import scipy

    digest = hashlib.sha256()
    folder = Path(widemargin.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.read_bytes())
    return {
        "widemargin": widemargin.__version__,
        "source": digest.hexdigest()[:12],
        "python": ".".join(map(str, sys.version_info[:2])),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
    }


def check_versions(address: str, theirs: dict[str, str]) -> None:
    """Raise ClusterError if a worker runs another widemargin or Python; warn about other packages."""
    mine = versions()
    for name in MUST_BE_EQUAL:
        if theirs.get(name) != mine[name]:
            what = "widemargin" if name == "source" else name
            raise ClusterError(
                f"Worker {address} has another version of {what} than this process: "
                f"{theirs.get(name)} there, {mine[name]} here. Install the same versions on all workers."
            )
    others = [name for name, number in mine.items() if theirs.get(name) != number]
    if others:
        differ = ", ".join(f"{name} {theirs.get(name)} there, {mine[name]} here" for name in others)
        warn_user(
            f"Worker {address} has other versions: {differ}. Answers may differ in rounding; install the same versions "
            "if tasks fail.",
            UserWarning,
        )
