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

from typing import NamedTuple

import numpy as np

from widemargin.monitor.interrupt import status_of
from widemargin.monitor.status import Status
from widemargin.problems.linear import LinearAnswer, LinearProblem, LinearRun, Vector
from widemargin.solvers.linear.descent import NEXT
from widemargin.solvers.linear.newton_system import MOST_FREE, FeatureGram, SampleGram
from widemargin.solvers.linear.responses import bias_change, find_free, line_minimum, respond, smoothed_losses

PRIMAL_SIDE = 1500  # features up to which H itself may be factored; beyond, only the system of the free samples is
FEW_FEATURES = 200  # up to which H is so small that it always is
SAMPLE_SIDE = 0.6  # free samples per feature up to which their system is the cheaper one
LARGEST_S = 1e10  # s in units of 1 / margin: beyond, rounding of a margin moves multipliers by more than the tolerance
INNER = 0.3  # a round ends when |g|^2 / 2 falls below this share of the complementarity term
SMALL_DECREMENT = 0.01  # ... or when the predicted decrease of the objective does
GROWTH = 3.0  # of s from round to round
PATIENCE = 200  # steps without a better gap after which rounding is held to be the limit: a round can take a hundred
NANOSECOND = 1e-9  # an entry copied or multiplied
FLOP = 4.5e-11  # seconds of a multiplication and addition of a Cholesky factor of medium size
TYPICAL_STEPS = {True: 7, False: 18}  # squared losses or not, from the multipliers of coordinate descent
REFRESHED = 1e-6  # relative difference between a gap that was followed and the same gap computed afresh


class GapParts(NamedTuple):
    """Primal value, and the two parts of the gap: |w - X'b|^2 / 2 and the sum of comp."""

    primal: float
    half: float
    comp: float


class Newton:
    """State of the method.

    Attributes
    ----------
    w, u : weights and margins u = X w
    smoothed : the losses smoothed about the multipliers of the last round, with proximal parameter s
    beta, total : multipliers b and their sum X'b
    g : gradient of the smoothed objective
    sums : primal value and gap
    decrement : decrease predicted at the last full step
    systems : of the features and of the free samples
    """

    def __init__(self, problem: LinearProblem, start: LinearAnswer | None, s: float) -> None:
        self.problem = problem
        n, d = problem.rows.n, problem.rows.d
        self.w = np.zeros(d + 1) if start is None else start.weights.copy()
        self.u = problem.rows.times(self.w)
        self.beta, self.total = np.zeros(n), np.zeros(d + 1)
        self.systems = FeatureGram(problem), SampleGram(problem)
        if problem.squared:
            self.smooth(np.zeros(n), 1.0)
        else:
            self.smooth(_middle(problem) if start is None else start.beta, s / problem.scale)

    @property
    def gap(self) -> float:
        return (self.sums.half + self.sums.comp) / max(self.sums.primal, np.finfo(float).tiny)

    def smooth(self, centre: Vector, s: float) -> None:
        """Begin a round."""
        self.s, self.decrement = s, np.inf
        self.smoothed = smoothed_losses(self.problem.dual, centre, s * self.problem.rate)
        self.settle()

    def settle(self) -> None:
        """Bias, multipliers, X'b and gap for the present w and smoothed losses."""
        if self.problem.free_bias:
            change = bias_change(self.smoothed, self.u)
            self.w[-1] += change
            self.u += change
        self.respond()

    def respond(self) -> None:
        """Multipliers, X'b and gap for the present margins."""
        p = self.problem
        beta, losses, comp = respond(self.smoothed, self.u, p.squared)
        moved = np.flatnonzero(beta != self.beta)
        p.rows.add_transposed(moved, beta[moved] - self.beta[moved], self.total)
        self.beta = beta
        weights = p.penalty * self.w
        self.g = weights - self.total
        if p.free_bias:
            self.g[-1] = 0.0
        self.sums = GapParts(losses + 0.5 * float(weights @ self.w), 0.5 * float(self.g @ self.g), comp)

    def refresh(self) -> None:
        """Margins and X'b from scratch: what was added up over many steps has drifted."""
        rows, bias = self.problem.rows, float(self.w[-1])
        if self.problem.free_bias:
            self.w[-1] = 0.0
            features = rows.times(self.w)
            self.w[-1] = bias + bias_change(self.smoothed, features + bias)
            self.u = features + self.w[-1]  # not a sum of changes: the certificate counts one rounding
        else:
            self.u = rows.times(self.w)
        self.beta, self.total = np.zeros(rows.n), np.zeros(rows.d + 1)  # so that all multipliers count as moved
        self.respond()

    def next_round(self, growth: float) -> None:
        """Move the centre to the multipliers, enlarge s."""
        self.smooth(self.beta, min(growth * self.s, LARGEST_S / self.problem.scale))

    def round_is_over(self) -> bool:
        """Whether the smoothed problem is solved well enough for its centre to be moved."""
        _, half, comp = self.sums
        return not self.problem.squared and (half <= INNER * comp or self.decrement <= SMALL_DECREMENT * comp)

    def step(self) -> bool:
        """One Newton step with a line search; False where no direction or no descent is left."""
        direction = self.direction()
        slope = float(self.g @ direction)
        if not slope < 0.0:
            return False
        p, q = self.problem, self.problem.rows.times(direction)
        scaled = p.penalty * direction
        linear, quadratic = float(scaled @ self.w), float(scaled @ direction)
        t, bias = line_minimum(self.smoothed, self.u, q, slope, linear, quadratic, p.free_bias)
        self.w += t * direction
        self.w[-1] += bias
        self.u += t * q + bias
        self.decrement = -0.5 * slope if t > 0.5 else np.inf
        self.settle()
        return True

    def direction(self) -> Vector:
        """-H^-1 g, from the smaller of the two systems."""
        d, free = self.problem.rows.d, find_free(self.smoothed, self.beta)
        by_features = d <= FEW_FEATURES or (d <= PRIMAL_SIDE and np.count_nonzero(free) > SAMPLE_SIDE * d)
        return self.systems[0 if by_features else 1].direction(self.g, free, self.s)

    def answer(self) -> LinearAnswer:
        """The present point; margins and total hold where they were just refreshed."""
        return LinearAnswer(self.w, self.beta, self.u, self.total, self.gap)


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
    rows = problem.rows
    n_free = int(np.count_nonzero(find_free(smoothed_losses(problem.dual, beta, beta), beta)))
    order = min(n_free, MOST_FREE, rows.d if rows.d <= PRIMAL_SIDE else n_free)
    step = order**3 / 3.0 * FLOP + order**2 * NANOSECOND + (rows.entries + 8 * rows.n) * NANOSECOND
    return TYPICAL_STEPS[problem.squared] * step


def solve_newton(
    problem: LinearProblem,
    run: LinearRun,
    start: LinearAnswer | None = None,
    *,
    s: float = 1.0,
    growth: float = GROWTH,
) -> LinearAnswer:
    """Run until the relative gap is met, the run ends, or rounding stops progress.

    start : weights, multipliers as the first centre, and the iterations that led there
    s : proximal parameter in units of 1 / margin
    """
    state = Newton(problem, start, s)
    iterations, best, since, goal = 0 if start is None else start.iterations, np.inf, 0, run.stopping.tol
    status: Status | None = None
    try:
        while status is None:
            run.report(state.gap, state.sums.primal, iterations, state.w, state.beta)
            if state.gap <= goal:
                state.refresh()  # believe only what was computed afresh
                if state.gap <= goal * (1.0 + REFRESHED):
                    answer = state.answer()
                    status = run.judge(answer)
                    goal = NEXT * state.gap
                    if status is not None:
                        break
            status = run.ended(iterations)
            if state.gap < 0.9 * best:
                best, since = state.gap, 0
                kept = LinearAnswer(state.w.copy(), state.beta, gap=best)
            since += 1
            if since > PATIENCE or not np.isfinite(state.sums.primal):
                status = status or Status.STALLED
            if status is not None:
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
    if status not in (Status.OPTIMAL, Status.UNDECIDED):  # within a round the gap can grow before it falls
        answer = kept if best < state.gap else LinearAnswer(state.w, state.beta, gap=state.gap)
    answer.status, answer.iterations = status, iterations
    return answer
