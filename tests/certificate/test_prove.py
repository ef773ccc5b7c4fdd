"""Deciding a violation from a function with errors: right whatever the errors are, and from few float64 values."""

import numpy as np
import pytest

from tests.oracles import KERNELS, MACHINES, WITHOUT_BIAS, without_groups
from tests.samples import problem_of
from widemargin.certificate import certify_function
from widemargin.certificate.prove import settle
from widemargin.gram.scores import Scores
from widemargin.problems import squared_hinge

N = 600


def violation(dual, beta, function):
    """Largest violation of the definition at a given function."""
    f = function[dual.row] if dual.row is not None else function
    f = f + dual.diagonal * beta + dual.linear_term
    rise = np.where(beta >= 0, f + dual.epsilon, f - dual.epsilon)
    fall = np.where(beta > 0, f + dual.epsilon, f - dual.epsilon)
    if dual.n_groups == 0:
        return max(0.0, fall[beta > dual.lower].max(initial=0.0), -rise[beta < dual.upper].min(initial=0.0))
    widest = 0.0
    for g in range(dual.n_groups):
        up, down = rise[(beta < dual.upper) & (dual.group == g)], fall[(beta > dual.lower) & (dual.group == g)]
        if len(up) and len(down):
            widest = max(widest, down.max() - up.min())
    return widest


def blurred(machine, rng, n_groups=True):
    """A dual, a point of it, its true function, and that function with errors of known bounds."""
    X, dual = problem_of(machine, N, rng, d=4)
    dual = dual if n_groups else without_groups(dual)
    beta = np.clip(rng.normal(size=len(dual)), dual.lower, dual.upper)
    beta[rng.random(len(dual)) < 0.5] = 0.0
    true = KERNELS["rbf"][1](X, X) @ dual.per_sample(beta)
    error = 10.0 ** rng.uniform(-7, -1) * rng.random(N)
    return dual, beta, true, Scores(true + error * rng.uniform(-1, 1, N), error)


@pytest.mark.parametrize("machine, n_groups", [(m, True) for m in MACHINES] + [(m, False) for m in WITHOUT_BIAS])
def test_it_holds_if_and_only_if_the_true_violation_is_within_tol(machine, n_groups, rng):
    evaluated = 0
    for _ in range(15):
        dual, beta, true, scores = blurred(machine, rng, n_groups)
        truth = violation(dual, beta, true)
        asked = []

        def recomputed(at, true=true, asked=asked):
            asked.append(at)
            at = np.arange(N) if at is None else at
            return Scores(true[at], np.full(len(at), 1e-13))

        for tol in (truth * (1 - 1e-6), truth * (1 + 1e-6), truth + 3 * scores.error.max(), 0.2 * truth):
            asked.clear()
            settled, drift = settle(dual, beta, scores, recomputed, tol)
            known = certify_function(dual, beta, settled, tol)
            assert (known.violation <= tol) == (truth <= tol)
            assert known.violation >= truth * (1 - 1e-12)
            assert (np.abs(settled.values - true) <= settled.error + 1e-15).all()
            evaluated += sum(N if at is None else len(at) for at in asked)
            if asked:
                assert drift <= scores.error.max()
            if tol > truth + 2 * scores.error.max():
                assert not asked and settled is scores and np.isnan(drift)
    assert evaluated < 15 * 2 * N  # of 15 * 4 * N that all would be


@pytest.mark.parametrize("broken", ["nobody knows its error", "not a number"])
def test_a_function_that_nobody_vouches_for_is_computed_anew(broken, rng):
    dual, beta, true, scores = blurred("hinge", rng)
    bad = scores.values.copy()
    bad[7] = np.nan if broken == "not a number" else 1e9
    given = Scores(bad, np.where(np.arange(N) == 7, np.inf, scores.error))
    tol = 1.1 * violation(dual, beta, true)
    settled, _ = settle(dual, beta, given, lambda at: Scores(true[at], np.zeros(len(at))), tol)
    assert settled.values[7] == true[7]
    assert certify_function(dual, beta, settled, tol).violation <= tol


def test_values_that_are_no_better_are_not_asked_for_again(rng):
    """Float64 values whose own errors leave it open: asked for once, and the answer is that nothing is proven."""
    dual, beta, true, scores = blurred("hinge", rng)
    tol = 1.000001 * violation(dual, beta, true)
    asked = []

    def vaguely(at):
        at = np.arange(N) if at is None else at
        asked.extend(at.tolist())
        return Scores(true[at], np.full(len(at), 0.1 * tol))

    settled, _ = settle(dual, beta, Scores(scores.values, scores.error + tol), vaguely, tol)
    certificate = certify_function(dual, beta, settled, tol)
    assert len(asked) == len(set(asked)) and certificate.violation > tol and certificate.is_undecided


@pytest.mark.parametrize("criterion", ["gap", "objective"])
def test_gaps_are_decided_too(criterion, rng):
    for _ in range(10):
        dual, beta, true, scores = blurred("hinge", rng)
        exact = certify_function(dual, beta, Scores(true, np.zeros(N)), 1.0, criterion=criterion)

        def recomputed(at, true=true):
            values = true if at is None else true[at]
            return Scores(values, np.zeros(len(values)))

        for tol in (0.999 * exact.gap, 1.001 * exact.gap):
            settled, _ = settle(dual, beta, scores, recomputed, tol, criterion)
            known = certify_function(dual, beta, settled, tol, criterion=criterion)
            assert known.gap >= exact.gap * (1 - 1e-9)
            if tol < exact.gap:
                assert not known.gap <= tol


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_value_without_bound_has_a_gap_without_bound(sign):
    """An infinite error makes loss_excess NaN on one side of a squared loss, whichever side that is."""
    dual = squared_hinge(np.array([sign, -sign]), np.ones(2))
    scores = Scores(np.zeros(2), np.array([np.inf, 0.0]))
    certificate = certify_function(dual, np.zeros(2), scores, 1e-3)
    assert certificate.primal == np.inf and not certificate.holds
