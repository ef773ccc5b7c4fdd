"""A record of how a solver got there: objective, gap, violation, margin and support vectors after every pass.

Nothing is recorded unless asked for: `SVC(trace=True)` keeps a `History`, a `Trace` (training/trace.py) wraps a solver.
Both listen to the `watch` callback. What has to be computed at the point (problems/measure.py) is asked for by the
`measure` they are handed; where a solver does not keep F = K b, that computes it, so a traced run can be slower.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

COLUMNS = ("passes", "iterations", "seconds", "objective", "gap", "violation", "margin", "n_support", "n_free")


@dataclass(eq=False)
class Record:
    """What was seen of one problem; every list has one entry per pass, the first is the start."""

    dual: Any  # which problem it is
    rows: list[dict[str, float]] = field(default_factory=list)
    offset: int = 0  # passes of earlier calls on the same problem

    def note(self, info: dict[str, Any]) -> None:
        """Take one call of a solver's `watch`; looks within a pass are not recorded."""
        if self.rows and info["rounds"] + self.offset < self.rows[-1]["passes"]:  # taken up again: counts begin anew
            self.resume()
        if self.rows and info["rounds"] + self.offset == self.rows[-1]["passes"]:
            return
        row = {"passes": info["rounds"] + self.offset, **{name: info[name] for name in COLUMNS[1:4]}}
        row |= {"violation": info["violation"], "n_support": info["n_support"], "n_free": info["n_free"]}
        row |= {"gap": np.nan, "margin": np.nan}
        if "measure" in info:
            row |= info["measure"]()
        self.rows.append(row)

    def resume(self) -> None:
        """Count on from the last pass when a solver is called again on the same problem."""
        self.offset = int(self.rows[-1]["passes"]) if self.rows else 0


class History:
    """What was seen of every problem of one fit, as one table; the listener behind `trace=True`."""

    def __init__(self) -> None:
        self.records: dict[int, Record] = {}

    def __call__(self, info: dict[str, Any]) -> None:
        """Take one call of `watch`; problems on several threads have a record each."""
        self.records.setdefault(info["task"], Record(info["dual"])).note(info)

    def table(self) -> dict[str, NDArray]:
        """Columns of equal length: `problem`, the number of the two-class problem, and those of a `Trace`."""
        rows = [{"problem": number, **row} for number in sorted(self.records) for row in self.records[number].rows]
        return {name: np.array([row[name] for row in rows]) for name in ("problem", *COLUMNS)}
