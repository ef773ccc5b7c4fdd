"""Every step of SMO and of its relatives that move one multiplier: which, why, the line, its ends and the result.

    pair    b_1 + b_2 stays; along this line the objective is a parabola with curvature eta = K_11 + K_22 - 2 K_12,
            a_1 <- clip(a_1 - y_1 (E_1 - E_2) / eta, L, H)          platt, keerthi, simplified
    single  a_1 <- clip(a_1 - rate y_1 E_1, 0, C)                   adatron, coordinate, fixed-threshold

a = y b are the multipliers of a classifier, as the literature writes them; in regression, where b is the difference of
two multipliers, y = 1. E_i is the error of the model at point i, and number 1 is the point that the algorithm looked at
first (i2 in Platt's report). The solvers themselves make the steps: what is recorded here is a fit.

See  Platt (1998), equations (15) to (21); Keerthi et al. (2001); Cristianini & Shawe-Taylor (2000), Table 7.1
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from widemargin.gram import Gram
from widemargin.linalg.arrays import Vector
from widemargin.monitor.iteration import Iteration, Watch
from widemargin.monitor.status import Status
from widemargin.problems.dual import SignedDual
from widemargin.problems.optimality import free_of, scan_groups, slopes_of, violation_of
from widemargin.solvers import Solution, solver_named
from widemargin.solvers.reference import Adatron, Coordinate, FixedThreshold, Keerthi, Platt, Simplified
from widemargin.solvers.reference.pair_move import Multiplier, quadrant, threshold_between

SINGLE = (Adatron, Coordinate, FixedThreshold)
SOLVERS = (Platt, Keerthi, Simplified, *SINGLE)
NAMES = "'platt', 'keerthi', 'simplified', 'adatron', 'coordinate' or 'fixed-threshold'"
COLUMNS = ("step", "point", "partner", "eta", "L", "H", "unclipped", "clipped", "threshold", "objective", "violation")


@dataclass(frozen=True, eq=False)
class Step:
    """One step of a solver.

    Attributes
    ----------
    number : int
        Counted from 1.
    first, second : int, int or None
        The point that was looked at first, and its partner; None where a solver moves one multiplier.
    why : tuple of str
        Why each was chosen.
    eta : float
        Curvature of the objective along the line, K_11 + K_22 - 2 K_12; K_11 for a single multiplier.
    low, high : float
        Ends L and H of the line for the multiplier of the first point.
    unclipped : float
        Where the first multiplier would go without ends; NaN where the curvature is not positive.
    before, after : tuple of float
        Multipliers of the points before and after the step.
    threshold : float
        The negative bias: what the pair asks for, by (20) or (21); -tau^2 sum y a for solvers that move one multiplier.
    objective : float
        Dual objective after the step; no step lowers it.
    violation : float
        Largest violation of the optimality conditions after the step.
    multipliers : float64 array of shape (n_samples,)
        All multipliers after the step.
    """

    number: int
    first: int
    second: int | None
    why: tuple[str, ...]
    eta: float
    low: float
    high: float
    unclipped: float
    before: tuple[float, ...]
    after: tuple[float, ...]
    threshold: float
    objective: float
    violation: float
    multipliers: Vector

    @property
    def is_clipped(self) -> bool:
        """Whether the step ended at an end of the line."""
        return bool(self.after[0] in (self.low, self.high))

    def row(self) -> tuple[str, ...]:
        """The step as a row of the table (COLUMNS)."""
        partner = "" if self.second is None else str(self.second)
        numbers = (self.eta, self.low, self.high, self.unclipped, self.after[0], self.threshold, self.objective)
        return (str(self.number), str(self.first), partner, *(f"{x:.4g}" for x in numbers), f"{self.violation:.1e}")

    def __str__(self) -> str:
        points = (self.first,) if self.second is None else (self.first, self.second)
        lines = [f"step {self.number}"]
        lines += [f"  point {point:<8} {why}" for point, why in zip(points, self.why)]
        lines += [f"  eta            {self.eta:.6g}", f"  L, H           {self.low:.6g}, {self.high:.6g}"]
        at = " (clipped)" if self.is_clipped else ""
        lines += [f"  unclipped      {self.unclipped:.6g}{at}"]
        lines += [
            f"  multiplier {point:<3} {old:.6g} -> {new:.6g}"
            for point, old, new in zip(points, self.before, self.after)
        ]
        lines += [f"  threshold      {self.threshold:.6g}", f"  objective      {self.objective:.6g}"]
        return "\n".join([*lines, f"  violation      {self.violation:.3g}"])


class Steps(Sequence[Step]):
    """The steps of a fit, in order; printed, a table.

    Attributes
    ----------
    model : the fitted estimator
    status : how the fit ended; MAX_ITER if it needed more steps than were asked for
    """

    def __init__(self, steps: list[Step], model: Any) -> None:
        self._steps, self.model = steps, model
        self.status: Status = model.status_

    @overload
    def __getitem__(self, place: int) -> Step: ...

    @overload
    def __getitem__(self, place: slice) -> list[Step]: ...

    def __getitem__(self, place: int | slice) -> Step | list[Step]:
        return self._steps[place]

    def __len__(self) -> int:
        return len(self._steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self._steps)

    def __repr__(self) -> str:
        return f"<{len(self)} steps of {self.model!r}: {self.status.name}>"

    def __str__(self) -> str:
        rows = [COLUMNS, *(step.row() for step in self)]
        widths = [max(len(row[k]) for row in rows) for k in range(len(COLUMNS))]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows]
        return "\n".join([*lines, f"{len(self)} steps, {self.status.name}"])

    def _repr_html_(self) -> str:
        """Return the steps as a table, for notebooks."""
        head = "".join(f'<th scope="col">{name}</th>' for name in COLUMNS)
        rows = ("".join(f"<td>{cell}</td>" for cell in step.row()) for step in self)
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f'<table aria-label="Steps"><tr>{head}</tr>{body}</table><p>{len(self)} steps, {self.status.name}</p>'


def steps(machine: Any, X: Any, y: Any = None, *, most: int = 1000) -> Steps:
    """Fit an estimator and return every step that its solver made.

    Parameters
    ----------
    machine : SVC, SVR or OneClassSVM, not fitted
        With `solver` 'platt', 'keerthi', 'simplified', 'adatron', 'coordinate' or 'fixed-threshold', or an object of
        `widemargin.solvers.reference` with options. It is not changed.
    X, y : as `fit` takes them
        Two classes, or targets.
    most : int, default 1000
        Steps after which the fit ends.

    Returns
    -------
    steps : Steps
        A sequence of `Step`; print it, or one of its steps.

    Examples
    --------
    >>> import widemargin
    >>> X, y = [[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]], [-1, -1, 1, 1]
    >>> made = widemargin.steps(widemargin.SVC(kernel="linear", solver="platt"), X, y)
    >>> for step in made:
    ...     print(step.first, step.second, step.eta, step.low, step.high, round(step.after[0], 4), step.is_clipped)
    0 2 8.0 0.0 1.0 0.25 False
    """
    solver = _checked(machine, most)
    recorded = Recorded(replace(solver, every_step=True), [], [])
    model = clone(machine).set_params(solver=recorded, max_iter=most)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of a fit that `most` has ended: `status` says so
        model.fit(X) if y is None else model.fit(X, y)
    given = machine.get_params(deep=False)
    return Steps(recorded.steps, model.set_params(solver=given["solver"], max_iter=given["max_iter"]))


def _checked(machine: Any, most: int) -> Any:
    """Return the solver of a machine; raise an error if its steps cannot be recorded."""
    if not hasattr(machine, "solver") or not hasattr(machine, "max_iter"):
        raise TypeError(f"steps needs an estimator with a parameter `solver`, such as SVC; got {machine!r}.")
    solver = solver_named(machine.solver)
    if not isinstance(solver, SOLVERS):
        raise ValueError(f"The steps of solver={machine.solver!r} are not recorded: choose {NAMES}.")
    if isinstance(most, bool) or not isinstance(most, (int, np.integer)) or most < 1:
        raise ValueError(f"most, the number of steps after which the fit ends, must be 1 or more; got {most!r}.")
    return solver


@dataclass(frozen=True)
class Recorded:
    """A solver whose steps are kept."""

    solver: Any
    steps: list[Step]
    problems: list[SignedDual]

    @property
    def fixed_bias(self) -> bool:
        """Whether the solver needs problems without equality constraint (training/fit.py)."""
        return bool(self.solver.fixed_bias)

    @property
    def tau(self) -> float | None:
        """The fixed bias that the solver asks for (problems/fixed_bias.py)."""
        return getattr(self.solver, "tau", None)

    def __call__(self, dual: SignedDual, gram: Gram, *given: Any, watch: Watch | None = None, **start: Any) -> Solution:
        """Solve and record; everything but the listener is passed on."""
        self.problems.append(dual)
        if dual is not self.problems[0]:
            raise ValueError("steps records one problem: two classes without probabilities, or a regression.")
        recorder = Recorder(self.solver, dual, gram, self.steps)

        def both(seen: Iteration) -> None:
            recorder.note(seen)
            if watch is not None:
                watch(seen)

        return self.solver(dual, gram, *given, watch=both, **start)


class Recorder:
    """Turns the reports of one solve into steps."""

    def __init__(self, solver: Any, dual: SignedDual, gram: Gram, kept: list[Step]) -> None:
        self.solver, self.dual, self.gram, self.kept = solver, dual, gram, kept
        self.label = np.where(dual.upper > 0.0, 1.0, np.where(dual.lower < 0.0, -1.0, 1.0))  # y
        self.curvature = dual.per_variable(gram.diag) + dual.diagonal
        tau = getattr(solver, "tau", None)
        self.tau2 = 0.5 * float(gram.diag.max()) if tau is None else tau**2  # K + tau^2 has 2 max |x|^2
        self.threshold, self.done = 0.0, 0
        self.beta = self.gradient = np.empty(0)

    def note(self, seen: Iteration) -> None:
        """Handle one report: the start, a step, or the end of a pass without one."""
        assert seen.point is not None
        if self.done == seen.iterations and len(self.beta):
            return
        beta, Kb = seen.point()
        gradient = self.dual.gradient(beta, Kb)
        if len(self.beta):
            self.kept.append(self._step(seen.moved, beta, gradient))
        self.beta, self.gradient, self.done = beta.copy(), gradient, seen.iterations

    def _step(self, moved: tuple[int, ...], beta: Vector, gradient: Vector) -> Step:
        d = self.dual
        table = scan_groups(gradient, beta, d.lower, d.upper, d.epsilon, d.group_starts, d.n_groups)
        objective = float(-0.5 * beta @ (gradient + d.linear_term) - d.epsilon @ np.abs(beta))
        label = self.label[moved[0]]
        line = self._single(*moved, beta) if len(moved) == 1 else self._pair(*moved)
        why = self._why(*moved)
        if len(moved) == 2:
            self.threshold = float(threshold_between(*(self._multiplier(t, beta, gradient) for t in moved[::-1])))
        else:
            self.threshold = -self.tau2 * float(beta.sum())
        low, high = sorted((label * line[1], label * line[2]))
        multipliers = self.label * beta + 0.0  # no -0
        return Step(
            number=len(self.kept) + 1, first=moved[0], second=moved[1] if len(moved) == 2 else None, why=why,
            eta=float(line[0]), low=float(low) + 0.0, high=float(high) + 0.0, unclipped=float(label * line[3]),
            before=tuple(float(self.label[t] * self.beta[t]) + 0.0 for t in moved),
            after=tuple(float(multipliers[t]) for t in moved),
            threshold=self.threshold, objective=objective, violation=float(violation_of(table, d.n_groups)),
            multipliers=multipliers,
        )  # fmt: skip

    def _multiplier(self, t: int, beta: Vector, gradient: Vector) -> Multiplier:
        d = self.dual
        return Multiplier(beta[t], gradient[t], d.lower[t], d.upper[t], d.epsilon[t])

    def _single(self, t: int, beta: Vector) -> tuple[float, float, float, float]:
        """eta, ends and unclipped value of a step along one axis."""
        v = self._multiplier(t, self.beta, self.gradient)
        side = np.sign(beta[t]) or np.sign(v.b) or 1.0
        low, high = quadrant(v, side) if v.epsilon else (v.lower, v.upper)
        rates = getattr(self.solver, "rates", None)
        rate = 1.0 / self.curvature[t] if rates is None else np.broadcast_to(np.asarray(rates), len(beta))[t]
        slope = v.f + v.epsilon * side
        return self.curvature[t], low, high, v.b - getattr(self.solver, "omega", 1.0) * rate * slope

    def _pair(self, i: int, j: int) -> tuple[float, float, float, float]:
        """eta, ends and unclipped value of the first multiplier of a pair."""
        one, two = (self._multiplier(t, self.beta, self.gradient) for t in (i, j))
        with self.gram.uncounted():
            block = self.gram.block(np.array([i, j]))
            eta = self.curvature[i] + self.curvature[j] - 2.0 * float(block[0, 1])
        return eta, *line_of(one, two, eta)

    def _why(self, i: int, j: int | None = None) -> tuple[str, ...]:
        """Why the points of a step were chosen, judged at the point before it."""
        d, beta, f = self.dual, self.beta, self.gradient
        rise, fall = slopes_of(f, beta, d.epsilon)
        rise, fall = np.where(beta < d.upper, rise, np.inf), np.where(beta > d.lower, fall, -np.inf)
        if j is None:
            return (f"next in order; violates its condition by {max(-rise[i], fall[i]):.3g}",)
        if isinstance(self.solver, Keerthi):
            worst = max(fall[j] - rise[i], fall[i] - rise[j])
            return f"violates by {worst:.3g} with its partner", "holds the other threshold, or promises the most gain"
        by = max(self.threshold - rise[i], fall[i] - self.threshold)
        first = f"next in order; violates its condition by {by:.3g}"
        if isinstance(self.solver, Simplified):
            return first, "drawn at random"
        free = np.flatnonzero(free_of(beta, d.lower, d.upper, d.epsilon))
        error = f + d.epsilon * np.sign(beta)
        if j not in free:
            return first, "a bound point, from a random place: no non-bound point allowed a step"
        farthest = np.abs(error[free] - error[i]).max()
        if abs(error[j] - error[i]) >= (1.0 - 1e-9) * farthest:
            return first, f"non-bound point with the largest |E1 - E2|, {farthest:.3g}"
        return first, "a non-bound point, from a random place: the largest |E1 - E2| allowed no step"


def line_of(one: Multiplier, two: Multiplier, eta: float) -> tuple[float, float, float]:
    """Ends of the line for the first of two multipliers whose sum stays, and the minimum of the parabola on it.

    With a kink (regression) the line is the part of it on which neither multiplier changes its sign, on the side on
    which the objective falls most.
    """
    total, best = one.b + two.b, (np.inf, one.b, one.b, np.nan)
    for side1 in (1.0, -1.0):
        for side2 in (1.0, -1.0):
            (l1, u1), (l2, u2) = quadrant(one, side1), quadrant(two, side2)
            low, high = max(l1, total - u2), min(u1, total - l2)
            if not (l1 <= one.b <= u1 and l2 <= two.b <= u2 and low < high):
                continue
            slope = one.f - two.f + one.epsilon * side1 - two.epsilon * side2
            lowest = one.b - slope / eta if eta > 0.0 else np.nan
            ends = np.array([low, high] if np.isnan(lowest) else [min(max(lowest, low), high)]) - one.b
            with np.errstate(invalid="ignore"):
                change = float(np.nan_to_num(slope * ends + 0.5 * eta * ends**2, nan=np.inf).min())
            if change < best[0]:
                best = (change, low, high, lowest)
    return best[1:]
