"""The file of a checkpoint: the multipliers of the problems of one fit that are not zero.

    header              format, version, digests of the problems
    starts, places, values   problem k has the multipliers values[starts[k]:starts[k + 1]] at these places, ascending

It is an archive (storage/archive.py): numbers only, written atomically. A file may come from anybody: everything that
is read here is checked before it is used, and the multipliers are moved into the box of their problem afterwards
(problems/warm_start.py).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from widemargin.linalg.arrays import Vector
from widemargin.storage.archive import read_archive, write_archive
from widemargin.storage.errors import FileError

ENDING = ".checkpoint"
FORMAT, VERSION = "widemargin checkpoint", 1
BYTES = 16, 200, 10_000  # of a multiplier, of a problem, and of the rest: no file is larger


def write_multipliers(path: Path, problems: Mapping[str, Vector]) -> None:
    """Write the multipliers of each problem, by its digest; FileError if that is impossible."""
    places = [np.flatnonzero(beta) for beta in problems.values()]
    nothing = np.empty(0)
    arrays = {
        "starts": np.cumsum([0, *map(len, places)], dtype=np.int64),
        "places": np.concatenate([nothing.astype(np.int64), *places]),
        "values": np.concatenate([nothing, *(beta[at] for beta, at in zip(problems.values(), places))]),
    }
    write_archive(path, {"format": FORMAT, "version": VERSION, "problems": list(problems)}, arrays)


def read_multipliers(path: Path, sizes: Mapping[str, int]) -> dict[str, Vector]:
    """Return the multipliers of those problems that are in the file, by digest; FileError if it is damaged.

    sizes : number of variables of each problem
    """
    most = BYTES[0] * sum(sizes.values()) + BYTES[1] * len(sizes) + BYTES[2]
    if os.path.getsize(path) > most:
        raise FileError(f"it has more than the {most:,} bytes that these problems can fill")
    header, arrays = read_archive(path)
    if (header.get("format"), header.get("version")) != (FORMAT, VERSION):
        raise FileError(f"it is no {FORMAT} of version {VERSION}")
    problems = header.get("problems")
    if arrays.keys() != {"starts", "places", "values"} or not isinstance(problems, list):
        raise FileError("it lacks arrays of a checkpoint")
    starts, places, values = arrays["starts"], arrays["places"], arrays["values"]
    kinds = [(array.dtype.str[1:], array.ndim) for array in (starts, places, values)]
    if kinds != [("i8", 1), ("i8", 1), ("f8", 1)]:
        raise FileError("its arrays are of other types")
    is_sound = (
        len(starts) == len(problems) + 1
        and starts[0] == 0
        and starts[-1] == len(places) == len(values)
        and bool((np.diff(starts) >= 0).all())
    )
    if not is_sound:
        raise FileError("its arrays do not fit together")
    found = {}
    for name, first, last in zip(problems, starts[:-1].tolist(), starts[1:].tolist()):
        if not isinstance(name, str) or name not in sizes:
            continue
        at, beta = places[first:last], np.zeros(sizes[name])
        is_place = not len(at) or (at[0] >= 0 and at[-1] < len(beta) and bool((np.diff(at) > 0).all()))
        if not is_place or not np.isfinite(values[first:last]).all():
            raise FileError("its multipliers are not those of this problem")
        beta[at] = values[first:last]
        found[name] = beta
    return found
