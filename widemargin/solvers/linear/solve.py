"""Which method solves a linear machine: measured rules, each a sentence.

    hard = mean of C_i (|x_i|^2 + 1): how many units of margin one multiplier can move

few features (d <= PRIMAL_SIDE)
    easy problems       (hard below EASY) coordinate descent
    others              Newton; where d > WIDE a few passes of coordinate descent first, which make the free set small
    many samples        Newton starts from the optimum of every 16th sample
many features           coordinate descent; Newton takes over when the passes predicted to be left would take longer
unpenalised bias        Newton, for many features from a few passes on the machine with penalised bias

Small problems (SMALL entries or fewer) are solved to rounding whatever the tolerance: a step costs microseconds there,
and answers then do not depend on order, repetition or threads.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from widemargin.monitor.status import Status
from widemargin.problems.linear import Accept, Budget, LinearAnswer, LinearProblem, Point, Undecidable
from widemargin.solvers.linear.coordinate import solve_coordinates
from widemargin.solvers.linear.newton import PRIMAL_SIDE, seconds_from, solve_newton
from widemargin.solvers.linear.responses import answers

WIDE = 200  # features: below, the Gram matrix of all samples costs less than a few passes
EASY = 3.0  # hardness below which coordinate descent needs only a few passes over wide rows
EASY_NARROW = 1.0  # the same below NARROW features
NARROW = 100
STRIDE = 16  # of the subsample whose optimum starts Newton
SAMPLES_PER_FEATURE = {True: 200, False: 1600}  # squared loss or not: from here on the subsample pays
SMALL = 20_000  # entries
FINAL = (Status.INTERRUPTED, Status.STOPPED, Status.UNDECIDED)  # after which no other method goes on
ROUNDING = 1e-13  # relative gap that small problems are taken to


def solve_linear(
    problem: LinearProblem, budget: Budget, *, seed: int = 0, accept: Accept | None = None
) -> LinearAnswer:
    """Solve to the relative gap of the budget by the method that suits the data.

    accept : a further condition on an answer that meets the gap; with it, small problems are not taken to rounding
    """
    flat = _flat(problem, accept)
    if flat is not None:
        return flat
    if problem.free_bias:
        return _free_bias(problem, budget, seed, accept)
    rows = problem.rows
    if rows.entries <= SMALL and budget.gap > ROUNDING and accept is None:
        return _to_rounding(problem, budget)
    if rows.d > PRIMAL_SIDE:
        return _passes(problem, budget, seed, accept)
    hard = float(problem.rate.mean()) * (0.5 if problem.squared else 1.0) * (rows.mean_square() + 1.0)
    easy = hard < (EASY_NARROW if rows.d < NARROW else EASY)
    if easy:
        return _passes(problem, budget, seed, accept)
    if rows.d > WIDE:
        passes = (8 if rows.d > 500 else 3) if problem.squared else 4
        found = solve_coordinates(problem, budget, seed=seed, max_passes=passes, accept=accept)
        if found.status in (Status.OPTIMAL, *FINAL):
            return found
        return solve_newton(
            problem, budget, weights=found.weights, centre=found.beta, done=found.iterations, accept=accept
        )
    if rows.n >= SAMPLES_PER_FEATURE[problem.squared] * rows.d:
        return _from_subsample(problem, budget, accept)
    return solve_newton(problem, budget, accept=accept)


def _flat(problem: LinearProblem, accept: Accept | None) -> LinearAnswer | None:
    """Weights zero where a constant costs nothing: the optimum is 0, and only the exact answer has a relative gap."""
    dual = problem.dual
    bias = -0.5 * float(dual.linear_term.max() + dual.linear_term.min()) if problem.free_bias else 0.0
    if (np.abs(dual.linear_term + bias) > dual.epsilon).any():
        return None
    weights, beta, total = np.zeros(problem.rows.d + 1), np.zeros(len(dual)), np.zeros(problem.rows.d + 1)
    weights[-1] = bias
    try:
        if accept is not None and not accept(Point(weights, beta, problem.rows.times(weights), total)):
            return None
    except Undecidable:
        return None
    return LinearAnswer(weights, beta, Status.OPTIMAL, 0, 0.0)


def _to_rounding(problem: LinearProblem, budget: Budget) -> LinearAnswer:
    """Newton to the last digit; what stalls there has met any tolerance it could."""
    found = solve_newton(problem, replace(budget, gap=ROUNDING))
    if found.gap <= budget.gap:
        found.status = Status.OPTIMAL
    return found


def solve_from_zero(problem: LinearProblem, budget: Budget, accept: Accept, done: int) -> LinearAnswer:
    """Newton for linear losses from multipliers zero in steps of the size of 1 / |x|^2, where `solve_linear` stalled.

    Where C |x|^2 is very large and the classes are far apart, multipliers are tiny beside C: steps of the size of C,
    from the middle of the box, leave nothing but rounding of them.
    """
    step = problem.scale / max(problem.rows.mean_square(), np.finfo(float).tiny)
    small = replace(problem, rate=np.minimum(problem.rate, step))
    return solve_newton(small, budget, centre=np.zeros(problem.rows.n), accept=accept, done=done)


def _free_bias(problem: LinearProblem, budget: Budget, seed: int, accept: Accept | None) -> LinearAnswer:
    """Newton throughout; for many features from a few passes on the machine with penalised bias."""
    rows = problem.rows
    if rows.entries <= SMALL and accept is None:
        return _to_rounding(problem, budget)
    if rows.d <= PRIMAL_SIDE:
        if rows.n >= SAMPLES_PER_FEATURE[problem.squared] * rows.d:
            return _from_subsample(problem, budget, accept)
        return solve_newton(problem, budget, accept=accept)
    penalised = replace(problem, dual=replace(problem.dual, n_groups=0))
    found = solve_coordinates(penalised, replace(budget, gap=max(1e-2, budget.gap)), seed=seed, max_passes=10)
    if found.status in FINAL:
        budget = replace(budget, max_iter=0)
    return solve_newton(
        problem, budget, weights=found.weights, centre=found.beta, s=2.0, done=found.iterations, accept=accept
    )


def _passes(problem: LinearProblem, budget: Budget, seed: int, accept: Accept | None) -> LinearAnswer:
    """Coordinate descent; Newton takes over where it is slow, from a point that is nearly right already."""
    half = max(1, budget.max_iter // 2)  # of the iterations allowed: some must be left for Newton
    found = solve_coordinates(problem, budget, seed=seed, max_passes=half, rival=seconds_from, accept=accept)
    if found.status is not Status.OWN_RULE:
        return found
    s = min(max((0.03 / max(found.gap, 1e-9)) ** 0.5, 1.0), 1000.0)  # the nearer, the larger: keeps it there
    return solve_newton(
        problem, budget, weights=found.weights, centre=found.beta, s=s, done=found.iterations, accept=accept
    )


def _from_subsample(problem: LinearProblem, budget: Budget, accept: Accept | None = None) -> LinearAnswer:
    """Newton from the optimum of every STRIDE-th sample."""
    loose = replace(budget, gap=max(1e-2 if problem.squared else 3e-3, budget.gap), watch=None)
    some = problem.every(STRIDE)
    if problem.free_bias and not (some.dual.upper.any() and some.dual.lower.any()):  # a rare class is missing
        return solve_newton(problem, budget, accept=accept)
    few = solve_newton(some, loose)
    if problem.squared:
        return solve_newton(problem, budget, weights=few.weights, done=few.iterations, accept=accept)
    s = 10.0
    dual = problem.dual
    middle = 0.5 * (dual.lower + dual.upper)
    margins = problem.rows.times(few.weights)
    centre = np.empty(problem.rows.n)
    answers(margins, middle, 0.5 * s / problem.scale, problem.rate, *problem.box, centre)
    return solve_newton(
        problem, budget, weights=few.weights, centre=centre, s=s, growth=6.0, done=few.iterations, accept=accept
    )
