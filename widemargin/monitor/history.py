"""A record of the progress of a solver: objective, gap, violation, margin and support vectors after every pass.

Recording is optional: `SVC(trace=True)` keeps the table of a `History`; a `Trace` (training/trace.py) wraps a solver.
Quantities that must be computed at the point (problems/measure.py) come from `measure` of the iteration; where a solver
does not keep F = K b, `measure` computes it, so a traced run can be slower. In rounds on an active set F is not known,
and computing it would take kernel rows that the fit does not need: gap and margin are NaN there, and the violation is
that of the set.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.monitor.iteration import Iteration

COLUMNS = ("passes", "iterations", "seconds", "objective", "gap", "violation", "margin", "n_support", "n_free")


@dataclass(eq=False)
class Record:
    """Records of one problem; every list has one entry per pass, the first is the start."""

    dual: Any  # the problem
    number: int = 0  # number of the problem in its fit
    rows: list[dict[str, float]] = field(default_factory=list)
    offset: int = 0  # passes of earlier calls on the same problem

    def note(self, seen: Iteration) -> None:
        """Handle one call of a solver's `watch`; calls within a pass are not recorded."""
        last = int(self.rows[-1]["passes"]) if self.rows else -1
        if seen.rounds + self.offset < last:  # resumed: counts restart
            self.offset = last
        if seen.rounds + self.offset == last:
            return
        row = {"passes": seen.rounds + self.offset, "gap": np.nan, "margin": np.nan}
        row |= {name: getattr(seen, name) for name in COLUMNS if name not in row}
        if seen.measure is not None and not seen.on_active_set:
            row |= seen.measure()
        self.rows.append(row)


class History:
    """Records of all problems of one fit, as one table; the listener behind `trace=True`."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def note(self, iteration: Iteration) -> None:
        """Handle one call of `watch`; problems on several threads have separate records."""
        known = (record for record in self.records if record.dual is iteration.dual)
        record = next(known, None)
        if record is None:
            record = Record(iteration.dual, iteration.task)
            self.records.append(record)
        record.note(iteration)

    def table(self) -> dict[str, NDArray]:
        """Return columns of equal length: `problem`, the number of the two-class problem, and those of a `Trace`."""
        records = sorted(self.records, key=lambda record: record.number)
        rows = [{"problem": record.number, **row} for record in records for row in record.rows]
        return {name: np.array([row[name] for row in rows]) for name in ("problem", *COLUMNS)}
