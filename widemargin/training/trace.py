"""A wrapper that records the passes of a solver, for convergence plots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.monitor.history import COLUMNS, History
from widemargin.monitor.iteration import Iteration, Watch
from widemargin.problems.dual import SignedDual
from widemargin.problems.measure import measure
from widemargin.solvers import Solution, solver_named


class Trace(History):
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

    def of(self, solver: str | Callable[..., Solution] = "auto") -> Traced:
        """Return the solver wrapped so that this trace records it."""
        return Traced(solver_named(solver), self)

    def __len__(self) -> int:
        return len(self.records[-1].rows) if self.records else 0

    def __getattr__(self, name: str) -> NDArray:
        if name not in COLUMNS:
            raise AttributeError(f"A Trace has the columns {', '.join(COLUMNS)}; it has no {name!r}.")
        rows = self.records[-1].rows if self.records else []
        return np.array([row[name] for row in rows])


@dataclass(frozen=True)
class Traced:
    """A solver that reports to a trace as well as to its own listener."""

    solve: Callable[..., Solution]
    trace: Trace

    @property
    def fixed_bias(self) -> bool:
        """Whether the solver needs problems without equality constraint (training/fit.py)."""
        return bool(getattr(self.solve, "fixed_bias", False))

    @property
    def tau(self) -> float | None:
        """The fixed bias that the solver asks for (problems/fixed_bias.py)."""
        return getattr(self.solve, "tau", None)

    @property
    def tracks_error(self) -> bool:
        """Whether the solver bounds the error of its K b (training/certified.py)."""
        return bool(getattr(self.solve, "tracks_error", False))

    def __call__(self, dual: SignedDual, *given: Any, watch: Watch | None = None, **start: Any) -> Solution:
        """Solve and record; everything but the listener is passed on."""

        def both(seen: Iteration) -> None:
            point = seen.point
            measured = None if point is None else lambda: measure(dual, *point())
            self.trace.note(replace(seen, dual=dual, measure=measured))
            if watch is not None:
                watch(seen)

        return self.solve(dual, *given, watch=both, **start)
