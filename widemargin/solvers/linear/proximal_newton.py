"""Semismooth Newton on the proximal dual, for moderate dimension and where coordinate descent is slow.

Solves      1/2 |w|^2 + sum of the smoothed losses of responses.py, a strongly convex C^1 function of w whose gradient
            R w - X'b(X w) is piecewise linear; then moves the centre to b and enlarges s (proximal point method on the
            dual, which for these problems ends after finitely many rounds)
Newton      H = R + s X_F' diag(r) X_F,  F the free samples: few, so that X_F'X_F and X'b are updated by the
            samples that change, and a step costs about one pass over the data
Given       problem, a start (weights, and multipliers as the first centre), a budget
Returns     LinearAnswer; gap exact at every step, from the sums of responses.py
bias        penalised: one more weight. Unpenalised: after each step it is set to its exact minimum, which keeps
            sum b = 0 and with it the dual point feasible.

See         Qi & Sun (1993) for semismooth Newton; Rockafellar (1976) for the proximal point method and its duality with
            augmented Lagrangians; Mangasarian (2002) for finite Newton on the squared hinge.
"""

from __future__ import annotations

import numpy as np

from widemargin.costs import COSTS
from widemargin.monitor.interrupt import status_of
from widemargin.monitor.status import Status
from widemargin.problems.linear import LinearAnswer, LinearProblem, LinearRun, Vector
from widemargin.problems.optimality import free_of
from widemargin.solvers.linear.descent import NEXT
from widemargin.solvers.linear.newton_system import FeatureGram, SampleGram
from widemargin.solvers.linear.responses import bias_change, line_minimum, respond, smoothed_losses
from widemargin.solvers.linear.tuning import DEFAULT, LinearTuning


class Newton:
    """State of the method.

    Attributes
    ----------
    w, u : weights and margins u = X w
    smoothed : the losses smoothed about the multipliers of the last round, with proximal parameter s
    beta, total : multipliers b and their sum X'b
    g : gradient of the smoothed objective
    primal : value of the objective; half, comp : the parts of the gap, |w - X'b|^2 / 2 and the sum of comp
    decrement : decrease predicted at the last full step
    systems : of the features and of the free samples
    """

    def __init__(self, problem: LinearProblem, start: LinearAnswer | None, s: float, tuning: LinearTuning) -> None:
        self.problem, self.tuning = problem, tuning
        n, d = problem.rows.n, problem.rows.d
        self.w = np.zeros(d + 1) if start is None else start.weights.copy()
        self.u = problem.rows.times(self.w)
        self.beta, self.total = np.zeros(n), np.zeros(d + 1)
        self.systems = FeatureGram(problem), SampleGram(problem, tuning)
        if problem.squared:
            self.smooth(np.zeros(n), 1.0)
        else:
            self.smooth(_middle(problem) if start is None else start.beta, s / problem.scale)

    @property
    def gap(self) -> float:
        return (self.half + self.comp) / max(self.primal, np.finfo(float).tiny)

    def smooth(self, centre: Vector, s: float) -> None:
        """Start a round: smooth the losses about new multipliers."""
        self.s, self.decrement = s, np.inf
        self.smoothed = smoothed_losses(self.problem.dual, centre, s * self.problem.rate)
        self.settle()

    def settle(self) -> None:
        """Update bias, multipliers, X'b and gap for the current w and smoothed losses."""
        if self.problem.free_bias:
            change = bias_change(self.smoothed, self.u, 0.0)
            self.w[-1] += change
            self.u += change
        self.respond()

    def respond(self) -> None:
        """Update multipliers, X'b and gap for the current margins."""
        p = self.problem
        beta, losses, self.comp = respond(self.smoothed, self.u, p.squared)
        moved = np.flatnonzero(beta != self.beta)
        p.rows.add_transposed(moved, beta[moved] - self.beta[moved], self.total)
        self.beta = beta
        weights = p.penalty * self.w
        self.g = weights - self.total
        if p.free_bias:
            self.g[-1] = 0.0
        self.primal, self.half = losses + 0.5 * float(weights @ self.w), 0.5 * float(self.g @ self.g)

    def refresh(self) -> None:
        """Recompute margins and X'b, which have drifted over many steps."""
        rows, bias = self.problem.rows, float(self.w[-1])
        if self.problem.free_bias:
            self.w[-1] = 0.0
            features = rows.times(self.w)
            self.w[-1] = bias + bias_change(self.smoothed, features + bias, 0.0)
            self.u = features + self.w[-1]  # not updated by changes: the certificate counts one rounding
        else:
            self.u = rows.times(self.w)
        self.beta, self.total = np.zeros(rows.n), np.zeros(rows.d + 1)  # so that all multipliers count as moved
        self.respond()

    def next_round(self, growth: float) -> None:
        """Move the centre to the multipliers, enlarge s."""
        self.smooth(self.beta, min(growth * self.s, self.tuning.largest_s / self.problem.scale))

    def round_is_over(self) -> bool:
        """Whether the smoothed problem is solved accurately enough to move its centre."""
        if self.problem.squared:
            return False
        limits = self.tuning.round_share * self.comp, self.tuning.small_decrement * self.comp
        return self.half <= limits[0] or self.decrement <= limits[1]

    def step(self) -> bool:
        """Make one Newton step with a line search; return False if there is no descent direction."""
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
        """Return -H^-1 g, from the smaller of the two systems."""
        d, dual, tuning = self.problem.rows.d, self.problem.dual, self.tuning
        free = free_of(self.beta, dual.lower, dual.upper, dual.epsilon)
        many_free = np.count_nonzero(free) > tuning.free_per_feature * d
        by_features = d <= tuning.few_features or (d <= tuning.most_features and many_free)
        return self.systems[0 if by_features else 1].direction(self.g, free, self.s)

    def answer(self) -> LinearAnswer:
        """Return the current point, with margins and total if they were just recomputed."""
        return LinearAnswer(self.w, self.beta, self.u, self.total, self.gap)


def _middle(problem: LinearProblem) -> Vector:
    """Return the first centre: the middle of the box, both signs scaled to the same sum if the sum must be zero."""
    dual = problem.dual
    if not problem.free_bias:
        return 0.5 * (dual.lower + dual.upper)
    above, below = float(dual.upper.sum()), float(-dual.lower.sum())
    half = 0.5 * min(above, below)
    return dual.upper * (half / above) + dual.lower * (half / below)


def newton_cost(problem: LinearProblem, beta: Vector, tuning: LinearTuning = DEFAULT) -> float:
    """Estimate the nanoseconds that Newton takes from multipliers of which most are nearly optimal."""
    rows, dual = problem.rows, problem.dual
    n_free = int(np.count_nonzero(free_of(beta, dual.lower, dual.upper, dual.epsilon)))
    order = min(n_free, tuning.most_free, rows.d if rows.d <= tuning.most_features else n_free)
    factor = order**3 / 3.0 * COSTS.factor_operation
    step = factor + (order**2 + rows.entries + 8 * rows.n) * COSTS.copied_entry
    return tuning.typical_steps[0 if problem.squared else 1] * step


def solve_newton(
    problem: LinearProblem,
    run: LinearRun,
    start: LinearAnswer | None = None,
    *,
    s: float = 1.0,
    growth: float = 3.0,
    tuning: LinearTuning = DEFAULT,
) -> LinearAnswer:
    """Run until the relative gap is met, the run ends, or rounding stops progress; return a LinearAnswer.

    start : weights, multipliers as the first centre, and the iterations that led there
    s : proximal parameter in units of 1 / margin; growth : of s from round to round
    """
    state = Newton(problem, start, s, tuning)
    iterations, best, since, goal = 0 if start is None else start.iterations, np.inf, 0, run.stopping.tol
    status: Status | None = None
    try:
        while status is None:
            run.report(state.gap, state.primal, iterations, state.w, state.beta)
            if state.gap <= goal:
                state.refresh()  # accept only recomputed values
                if state.gap <= goal:
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
            if since > tuning.patience or not np.isfinite(state.primal):
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
    except KeyboardInterrupt as interrupt:  # multipliers are always feasible, so the point can be certified
        status = status_of(interrupt)
    if status not in (Status.OPTIMAL, Status.UNDECIDED):  # within a round the gap may grow before it falls
        answer = kept if best < state.gap else LinearAnswer(state.w, state.beta, gap=state.gap)
    answer.status, answer.iterations = status, iterations
    return answer
