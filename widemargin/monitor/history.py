"""A record of how a solver got there: objective, gap, violation, margin and support vectors after every pass.

Nothing is recorded unless asked for: `SVC(trace=True)` keeps a `History`, a `Trace` wraps a solver. Both listen to the
`watch` callback; where a solver does not keep F = K b, they ask for it, so a traced run can be slower than a plain one.

objective    the minimised dual (problems/dual.py)
gap          (primal - dual) / (|primal| + 1), the feasibility gap (7.3) of Cristianini & Shawe-Taylor (2000)
violation    largest violation of the optimality conditions, computed at the point, not the one a solver believes in
margin       smallest y_i (F_i - r) / |w|: the geometric margin of a classifier, nan for other machines
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.problems.dual import SignedDual
from widemargin.problems.optimality import levels_of, scan_groups, violation_of
from widemargin.problems.primal import best_primal
from widemargin.solvers import Solution, solver_named

COLUMNS = ("passes", "iterations", "seconds", "objective", "gap", "violation", "margin", "n_support", "n_free")


@dataclass(eq=False)
class Record:
    """What was seen of one problem; every list has one entry per pass, the first is the start."""

    dual: SignedDual
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
        if "point" in info:
            row |= measure(self.dual, *info["point"]())
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


TINY = float(np.finfo(np.float64).tiny)  # keeps the gap finite where both objectives are zero


def measure(dual: SignedDual, beta: NDArray[np.float64], function: NDArray[np.float64]) -> dict[str, float]:
    """Objective, gap, violation and margin of a point with F = K b."""
    f = dual.gradient(beta, function)
    table = scan_groups(f, beta, dual.lo, dual.hi, dual.kink, dual.group_starts, dual.n_groups, 0.0)
    level = levels_of(table, dual.n_groups)
    norm2 = float(dual.per_sample(beta) @ function)
    primal, _ = best_primal(dual, dual.per_variable(function), norm2, level)
    objective = dual.objective(beta, function)
    margin = np.nan
    if np.all(np.abs(dual.shift) == 1.0) and not np.any(dual.kink) and dual.row is None and norm2 > 0.0:
        output = function - (level[0] if dual.n_groups else 0.0)
        margin = float((-dual.shift * output).min() / np.sqrt(norm2))
    return {
        "objective": objective,
        "gap": (primal + objective) / max(abs(primal), abs(objective), TINY) if np.isfinite(primal) else np.inf,
        "violation": violation_of(table, dual.n_groups),
        "margin": margin,
    }


class Trace:
    """Records the passes of a solver; wrap the solver with `of` and give it to an estimator or call it.

    The columns `passes`, `iterations`, `seconds`, `objective`, `gap`, `violation`, `margin`, `n_support` and `n_free`
    are arrays of the last problem solved; `records` holds all of them, one per problem of a fit with several classes.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVC
    >>> from widemargin.monitor.history import Trace
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> trace = Trace()
    >>> machine = SVC(kernel="linear", C=np.inf, solver=trace.of("platt")).fit(X, [0, 0, 1, 1])
    >>> bool(np.all(np.diff(trace.objective) <= 0)), round(float(trace.margin[-1]), 3)
    (True, 1.414)
    """

    def __init__(self) -> None:
        self.records: list[Record] = []

    def of(self, solver: str | Callable[..., Solution] = "auto") -> Traced:
        """The same solver, recorded by this trace."""
        return Traced(solver_named(solver), self)

    def record_of(self, dual: SignedDual) -> Record:
        """The record of a problem: the one it has when a solver goes on with it, else a new one."""
        for record in self.records:
            if record.dual is dual:
                record.resume()
                return record
        self.records.append(Record(dual))
        return self.records[-1]

    def __len__(self) -> int:
        return len(self.records[-1].rows) if self.records else 0

    def __getattr__(self, name: str) -> NDArray:
        if name not in COLUMNS:
            raise AttributeError(f"A Trace has the columns {', '.join(COLUMNS)}; it has no {name!r}.")
        rows = self.records[-1].rows if self.records else []
        return np.array([row[name] for row in rows])


class Traced:
    """A solver that reports to a trace as well as to its own watcher."""

    def __init__(self, solve: Callable[..., Solution], trace: Trace) -> None:
        self.solve, self.trace = solve, trace

    @property
    def fixed_bias(self) -> bool:
        """Whether the solver wants machines without equality constraint (training/fit.py)."""
        return bool(getattr(self.solve, "fixed_bias", False))

    def __call__(
        self,
        dual: SignedDual,
        gram: Any,
        stopping: Any,
        start: NDArray | None = None,
        function: NDArray | None = None,
        watch: Callable[[dict[str, Any]], None] | None = None,
    ) -> Solution:
        """Solve and record."""
        record = self.trace.record_of(dual)

        def both(info: dict[str, Any]) -> None:
            record.note(info)
            if watch is not None:
                watch(info)

        return self.solve(dual, gram, stopping, start=start, function=function, watch=both)
