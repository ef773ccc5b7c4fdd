"""Semismooth Newton on the proximal dual: for moderate dimension, and for what coordinate descent finds hard.

Solves      1/2 |w|^2 + sum of the smoothed losses of responses.py, a strongly convex C^1 function of w whose gradient
            R w - X'b(X w) is piecewise linear; then moves the centre to b and enlarges s (proximal point method on the
            dual, which for these problems ends after finitely many rounds)
Newton      H = R + s X_F' diag(r) X_F,  F the free samples: few, so that X_F'X_F and X'b are followed through the
            samples that change and a step costs about one pass over the data
Given       problem, a start (weights, and multipliers as the first centre), a budget
Returns     LinearAnswer; gap exact at every step, from the sums of responses.py
bias        penalised: one more weight. Unpenalised: after each step it is set to its exact minimum, which keeps
            sum b = 0 and with it the dual point feasible.

See         Qi & Sun (1993) for semismooth Newton; Rockafellar (1976) for the proximal point method and its duality with
            augmented Lagrangians; Mangasarian (2002) for finite Newton on the squared hinge.
"""

from __future__ import annotations

import numpy as np

from widemargin.monitor.interrupt import status_of
from widemargin.monitor.status import Status
from widemargin.problems.linear import Accept, Budget, LinearAnswer, LinearProblem, Undecidable, Vector
from widemargin.solvers.linear.newton_system import MOST_FREE, FeatureGram, SampleGram
from widemargin.solvers.linear.responses import (
    bias_change,
    line_minimum,
    move,
    propose_linear,
    propose_squared,
    take_over,
)

PRIMAL_SIDE = 1500  # features up to which H itself may be factored; beyond, only the system of the free samples is
ALWAYS_FEATURES = 200  # features up to which H is so small that it always is
SAMPLE_SIDE = 0.6  # free samples per feature up to which their system is the cheaper one
LARGEST = 1e10  # s in units of 1 / margin: beyond, rounding of a margin moves multipliers by more than the tolerance
INNER = 0.3  # a round ends when |g|^2 / 2 falls below this share of the complementarity term
SMALL_DECREMENT = 0.01  # ... or when the predicted decrease of the objective does
GROWTH = 3.0  # of s from round to round
PATIENCE = 200  # steps without a better gap after which rounding is held to be the limit: a round can take a hundred
NEXT = 0.2  # how much smaller the gap must be before a further condition is looked at again
NANOSECOND = 1e-9  # an entry copied or multiplied
FLOP = 4.5e-11  # seconds of a multiplication and addition of a Cholesky factor of medium size
TYPICAL_STEPS = {True: 7, False: 18}  # squared losses or not, from the multipliers of coordinate descent
REFRESHED = 1e-6  # relative difference between a gap that was followed and the same gap computed afresh


class Newton:
    """State of the method: weights w, margins u = X w, multipliers b, their sum X'b, and the free samples."""

    def __init__(self, problem: LinearProblem, weights: Vector | None, centre: Vector | None, s: float) -> None:
        self.problem = problem
        rows = problem.rows
        n, d = rows.n, rows.d
        self.w = np.zeros(d + 1) if weights is None else weights.copy()
        self.u = rows.times(self.w)
        self.s = 1.0 if problem.squared else s / problem.scale
        if problem.squared:
            self.centre = np.zeros(n)
        else:
            self.centre = _middle(problem) if centre is None else centre.copy()
        self.R = np.ones(d + 1)
        self.R[d] = 0.0 if problem.free_bias else 1.0
        self.beta, self.proposed, self.total = np.zeros(n), np.empty(n), np.zeros(d + 1)
        self.free = np.zeros(n, bool)
        self.moved, self.delta = np.empty(n, np.int64), np.empty(n)
        self.sides = (FeatureGram(problem), SampleGram(problem))
        self.decrement = np.inf
        self.settle()

    def arguments(self) -> tuple:
        """What the functions of responses.py take after u."""
        return (self.centre, self.s, self.problem.rate, *self.problem.box)

    def settle(self) -> None:
        """Bias, multipliers, X'b and gap for the present w, centre and s."""
        if self.problem.free_bias:
            change = bias_change(self.u, *self.arguments())
            self.w[-1] += change
            self.u += change
        self.respond()

    def respond(self) -> None:
        """Multipliers, X'b and gap for the present margins."""
        p = self.problem
        if p.squared:
            losses, self.comp = propose_squared(self.u, p.rate, *p.box, self.proposed)
        else:
            losses, self.comp = propose_linear(self.u, *self.arguments(), self.proposed)
        n_moved = take_over(self.proposed, *p.box[1:], self.beta, self.free, self.moved, self.delta)
        p.rows.add_transposed(self.moved[:n_moved], self.delta[:n_moved], self.total)
        self.g = self.R * self.w - self.total
        if p.free_bias:
            self.g[-1] = 0.0
        self.half = 0.5 * float(self.g @ self.g)
        self.primal = losses + 0.5 * float((self.R * self.w) @ self.w)
        self.gap = (self.half + self.comp) / max(self.primal, np.finfo(float).tiny)

    def refresh(self) -> None:
        """Margins and X'b from scratch: what was added up over many steps has drifted."""
        rows, bias = self.problem.rows, float(self.w[-1])
        if self.problem.free_bias:
            self.w[-1] = 0.0
            features = rows.times(self.w)
            self.u = features + bias
            self.w[-1] = bias + bias_change(self.u, *self.arguments())
            self.u = features + self.w[-1]  # not a sum of changes: the certificate counts one rounding
        else:
            self.u = rows.times(self.w)
        self.beta[:], self.free[:], self.total[:] = 0.0, False, 0.0  # so that all multipliers count as moved
        self.respond()

    def next_round(self, growth: float) -> None:
        """Move the centre to the multipliers, enlarge s."""
        self.centre[:] = self.beta
        self.s = min(growth * self.s, LARGEST / self.problem.scale)
        self.decrement = np.inf
        self.settle()

    def round_is_over(self) -> bool:
        """Whether the smoothed problem is solved well enough for its centre to be moved."""
        if self.problem.squared:
            return False
        return self.half <= INNER * self.comp or self.decrement <= SMALL_DECREMENT * self.comp

    def step(self) -> bool:
        """One Newton step with a line search; False where no direction or no descent is left."""
        direction = self.direction()
        slope = float(self.g @ direction)
        if not slope < 0.0:
            return False
        q = self.problem.rows.times(direction)
        linear = float((self.R * self.w) @ direction)
        quadratic = float((self.R * direction) @ direction)
        t, bias = line_minimum(self.u, q, slope, linear, quadratic, self.problem.free_bias, *self.arguments())
        self.w += t * direction
        self.w[-1] += bias
        move(self.u, q, t, bias)
        self.decrement = -0.5 * slope if t > 0.5 else np.inf
        self.settle()
        return True

    def direction(self) -> Vector:
        """-H^-1 g, from the smaller of the two systems."""
        d, n_free = self.problem.rows.d, int(np.count_nonzero(self.free))
        by_features = d <= ALWAYS_FEATURES or (d <= PRIMAL_SIDE and n_free > SAMPLE_SIDE * d)
        return self.sides[0 if by_features else 1].direction(self.g, self.free, self.s)


def _middle(problem: LinearProblem) -> Vector:
    """First centre: the middle of the box, both signs scaled to the same sum where the sum must be zero."""
    dual = problem.dual
    if not problem.free_bias:
        return 0.5 * (dual.lower + dual.upper)
    above, below = float(dual.upper.sum()), float(-dual.lower.sum())
    half = 0.5 * min(above, below)
    return dual.upper * (half / above) + dual.lower * (half / below)


def seconds_from(problem: LinearProblem, beta: Vector) -> float:
    """About how long Newton takes from multipliers that have mostly found their places."""
    rows, dual = problem.rows, problem.dual
    n_free = int(np.count_nonzero((beta > dual.lower) & (beta < dual.upper) & ((beta != 0.0) | (dual.epsilon == 0.0))))
    order = min(n_free, MOST_FREE, rows.d if rows.d <= PRIMAL_SIDE else n_free)
    step = order**3 / 3.0 * FLOP + order**2 * NANOSECOND + (rows.entries + 8 * rows.n) * NANOSECOND
    return TYPICAL_STEPS[problem.squared] * step


def solve_newton(
    problem: LinearProblem,
    budget: Budget,
    *,
    weights: Vector | None = None,
    centre: Vector | None = None,
    s: float = 1.0,
    growth: float = GROWTH,
    done: int = 0,
    accept: Accept | None = None,
) -> LinearAnswer:
    """Run until the relative gap is met, the budget is used up, or rounding stops progress.

    s : proximal parameter in units of 1 / margin; done : iterations another solver has used
    accept : a further condition, looked at when the gap of the budget is met and again whenever it has shrunk by NEXT;
        Undecidable ends the run
    """
    state = Newton(problem, weights, centre, s)
    iterations, best, since, goal = done, np.inf, 0, budget.gap
    status: Status | None = None
    kept = state.w, state.beta
    try:
        while status is None:
            budget.report(state.gap, state.primal, iterations, state.w, state.beta)
            if state.gap <= goal:
                state.refresh()  # believe only what was computed afresh
                if state.gap <= goal * (1.0 + REFRESHED):
                    if accept is None or accept(state):
                        status = Status.OPTIMAL
                        break
                    goal = NEXT * state.gap
            status = budget.ended(iterations)
            if status is not None:
                break
            if state.gap < 0.9 * best:
                best, since = state.gap, 0
                kept = state.w.copy(), state.beta.copy()
            since += 1
            if since > PATIENCE or not np.isfinite(state.primal):
                status = Status.STALLED
                break
            if state.round_is_over():
                state.next_round(growth)
            iterations += 1
            if not state.step():
                if problem.squared:
                    status = Status.STALLED
                else:
                    state.next_round(growth)
    except KeyboardInterrupt as interrupt:  # multipliers are feasible at any moment: what there is can be certified
        status = status_of(interrupt)
    except Undecidable:
        status = Status.UNDECIDED
    exact = status in (Status.OPTIMAL, Status.UNDECIDED)  # ends right after a refresh
    if not exact and best < state.gap:  # within a round the gap can grow before it falls
        return LinearAnswer(*kept, status, iterations, best)
    fresh = (state.u, state.total) if exact else (None, None)
    return LinearAnswer(state.w, state.beta, status, iterations, state.gap, *fresh)
