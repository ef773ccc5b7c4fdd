"""Choice of the method for a linear model, by measured rules.

    hard = mean of C_i (|x_i|^2 + 1): how many units of margin one multiplier can move

few features (d <= most_features)
    easy problems       (hard < easy) coordinate descent
    others              Newton; where d > few_features a few passes of coordinate descent first, which make the free set
                        small
    many samples        Newton starts from the optimum of a subsample
an earlier answer       (run.start) the method that would end the fit, from its weights and multipliers
many features           coordinate descent; Newton continues when the remaining passes are predicted to take longer
unpenalised bias        Newton, for many features from a few passes on the model with penalised bias

Small problems (SMALL_PROBLEM entries or fewer) are solved to rounding whatever the tolerance: a step costs microseconds
there, and answers then do not depend on order, repetition or threads. The other numbers are in tuning.py.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from widemargin.monitor.status import Status
from widemargin.problems.linear import LinearAnswer, LinearProblem, LinearRun, Vector
from widemargin.solvers.linear.dual_descent import solve_coordinates
from widemargin.solvers.linear.proximal_newton import newton_cost, solve_newton
from widemargin.solvers.linear.responses import respond, smoothed_losses
from widemargin.solvers.linear.tuning import DEFAULT, LinearTuning

SMALL_PROBLEM = 20_000  # entries
GO_ON = (Status.MAX_ITER, Status.OWN_RULE)  # after which Newton continues from the multipliers of coordinate descent
FIRST_S = 10.0  # proximal parameter of Newton's method, in units of 1 / margin, from nearly optimal weights
SMALLEST_GAP = 1e-13  # relative gap to which small problems are solved


def solve_linear(
    problem: LinearProblem, run: LinearRun, *, to_rounding: bool = False, tuning: LinearTuning = DEFAULT
) -> LinearAnswer:
    """Solve to the relative gap of the run by the method that suits the data.

    to_rounding : whether small problems are solved to rounding, whatever the run decides about answers
    """
    flat = _flat(problem, run)
    if flat is not None:
        return flat
    rows = problem.rows
    if to_rounding and rows.entries <= SMALL_PROBLEM:
        return _to_rounding(problem, replace(run, decide=None))
    if run.start is not None:
        return _from_answer(problem, run, run.start, tuning)
    if rows.d > tuning.most_features:
        return (_free_bias_of_many if problem.free_bias else _passes)(problem, run, tuning)
    hard = float(problem.rate.mean()) * (0.5 if problem.squared else 1.0) * (rows.mean_square() + 1.0)
    few_features = rows.d <= tuning.few_features
    if not problem.free_bias and hard < (tuning.easy_narrow if few_features else tuning.easy):
        return _passes(problem, run, tuning)
    if not problem.free_bias and not few_features:
        found = solve_coordinates(problem, _at_most(run, tuning.first_passes), tuning=tuning)
        return solve_newton(problem, run, found, tuning=tuning) if found.status in GO_ON else found
    if rows.n >= tuning.samples_per_feature[0 if problem.squared else 1] * rows.d:
        return _from_subsample(problem, run, tuning)
    return solve_newton(problem, run, tuning=tuning)


def _at_most(run: LinearRun, passes: int) -> LinearRun:
    """Return the same run with fewer passes."""
    return run.limited(max_iter=min(passes, run.stopping.max_iter))


def _flat(problem: LinearProblem, run: LinearRun) -> LinearAnswer | None:
    """Return zero weights if a constant has no loss: at an optimum of 0 only the exact answer has a relative gap."""
    dual = problem.dual
    bias = -0.5 * float(dual.linear_term.max() + dual.linear_term.min()) if problem.free_bias else 0.0
    if (np.abs(dual.linear_term + bias) > dual.epsilon).any():
        return None
    weights = np.zeros(problem.rows.d + 1)
    weights[-1] = bias
    answer = LinearAnswer(weights, np.zeros(len(dual)), gap=0.0, status=Status.OPTIMAL)
    return answer if run.judge(answer) is Status.OPTIMAL else None


def _to_rounding(problem: LinearProblem, run: LinearRun) -> LinearAnswer:
    """Solve by Newton to the last digit; a stall there means that no smaller gap can be reached."""
    found = solve_newton(problem, run.limited(tol=min(run.stopping.tol, SMALLEST_GAP)))
    if found.gap <= run.stopping.tol:
        found.status = Status.OPTIMAL
    return found


def solve_from_zero(problem: LinearProblem, run: LinearRun, done: int) -> LinearAnswer:
    """Solve linear losses by Newton from zero multipliers, in steps of the size of 1 / |x|^2, after a stall.

    Where C |x|^2 is very large and the classes are far apart, multipliers are tiny compared with C: after steps of the
    size of C, from the middle of the box, only rounding errors of them are left.
    """
    step = problem.scale / max(problem.rows.mean_square(), np.finfo(float).tiny)
    small = replace(problem, rate=np.minimum(problem.rate, step))
    zero = LinearAnswer(np.zeros(problem.rows.d + 1), np.zeros(problem.rows.n), iterations=done)
    return solve_newton(small, run, zero)


def _free_bias_of_many(problem: LinearProblem, run: LinearRun, tuning: LinearTuning) -> LinearAnswer:
    """Solve by Newton, started from a few passes on the model with penalised bias."""
    penalised = replace(problem, dual=replace(problem.dual, n_groups=0))
    short = replace(_at_most(run.limited(tol=max(1e-2, run.stopping.tol)), 10), decide=None)
    found = solve_coordinates(penalised, short, tuning=tuning)
    if found.status.on_request:
        run = run.limited(max_iter=0)
    return solve_newton(problem, run, found, s=2.0, tuning=tuning)


def _from_answer(problem: LinearProblem, run: LinearRun, start: LinearAnswer, tuning: LinearTuning) -> LinearAnswer:
    """Continue from an earlier answer; where only its weights are known, from the multipliers that respond to them."""
    if start.beta.size == 0:
        start = replace(start, beta=_response(problem, start.weights))
    if problem.rows.d > tuning.most_features and not problem.free_bias:
        return _passes(problem, run, tuning, start.beta)
    return solve_newton(problem, run, start, s=FIRST_S, growth=6.0, tuning=tuning)


def _passes(problem: LinearProblem, run: LinearRun, tuning: LinearTuning, beta: Vector | None = None) -> LinearAnswer:
    """Solve by coordinate descent; where that is slow, Newton continues from a nearly optimal point."""
    half = max(1, run.stopping.max_iter // 2)  # share of the allowed iterations; the rest is for Newton
    rival = partial(newton_cost, problem, tuning=tuning)
    found = solve_coordinates(problem, _at_most(run, half), rival, tuning, beta)
    if found.status not in GO_ON:
        return found
    s = min(max((0.03 / max(found.gap, 1e-9)) ** 0.5, 1.0), 1000.0)  # large near the optimum, to stay there
    return solve_newton(problem, run, found, s=s, tuning=tuning)


def _from_subsample(problem: LinearProblem, run: LinearRun, tuning: LinearTuning) -> LinearAnswer:
    """Solve by Newton, started from the optimum of a subsample."""
    some = problem.every(tuning.subsample)
    if problem.free_bias and not (some.dual.upper.any() and some.dual.lower.any()):  # a rare class is missing
        return solve_newton(problem, run, tuning=tuning)
    loose = run.limited(tol=max(1e-2 if problem.squared else 3e-3, run.stopping.tol))
    few = solve_newton(some, replace(loose, watch=None, decide=None), tuning=tuning)
    if problem.squared:
        return solve_newton(problem, run, few, tuning=tuning)
    start = replace(few, beta=_response(problem, few.weights))
    return solve_newton(problem, run, start, s=FIRST_S, growth=6.0, tuning=tuning)


def _response(problem: LinearProblem, weights: Vector) -> Vector:
    """Return multipliers for given weights: those of the losses, smoothed about the middle of the box if linear."""
    dual, s = problem.dual, 0.5 * FIRST_S / problem.scale
    centre = np.zeros(len(dual)) if problem.squared else 0.5 * (dual.lower + dual.upper)
    smoothed = smoothed_losses(dual, centre, (1.0 if problem.squared else s) * problem.rate)
    return respond(smoothed, problem.rows.times(weights), problem.squared)[0]
