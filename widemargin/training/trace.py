"""A solver wrapped so that its passes are recorded: how the figures of convergence are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.monitor.history import COLUMNS, Record
from widemargin.problems.dual import SignedDual
from widemargin.problems.measure import measure
from widemargin.solvers import Solution, solver_named


class Trace:
    """Records the passes of a solver; wrap the solver with `of` and give it to an estimator or call it.

    The columns `passes`, `iterations`, `seconds`, `objective`, `gap`, `violation`, `margin`, `n_support` and `n_free`
    are arrays of the last problem solved; `records` holds all of them, one per problem of a fit with several classes.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVC
    >>> from widemargin.training.trace import Trace
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
            record.note(info | {"measure": lambda: measure(dual, *info["point"]())} if "point" in info else info)
            if watch is not None:
                watch(info)

        return self.solve(dual, gram, stopping, start=start, function=function, watch=both)
