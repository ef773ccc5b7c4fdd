"""The certificate: right numbers for right answers, and a refusal for every kind of wrong one."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.exceptions import ConvergenceWarning

from tests.oracles import (
    DATA,
    KERNELS,
    MACHINES,
    GivenMatrix,
    as_array,
    noisy_scores,
    primal_at,
    solve_qp,
    values_at,
)
from tests.samples import overlapping, problem_of, train_one
from widemargin import SVC, LinearSVC, verify
from widemargin.certificate import certify, certify_function, combine
from widemargin.gram.scores import Scores
from widemargin.monitor.status import Status
from widemargin.problems import hinge

N = 60
TOL = 1e-6


def solved(machine, rng, kernel="rbf", C=1.0):
    X, dual = problem_of(machine, N, rng, C)
    trained = train_one(KERNELS[kernel][0], X, dual, tol=TOL)
    return X, KERNELS[kernel][1](X, X), dual, trained


def exact(Kb):
    """K b known without error."""
    return Scores(Kb, np.zeros(len(Kb)))


def within_group(dual, beta, size):
    """beta with `size` moved from one variable to another of the same group, both staying inside the box."""
    moved = beta.copy()
    for i in range(len(beta)):
        for j in range(len(beta)):
            same = i != j and dual.group[i] == dual.group[j]
            if same and beta[i] + size <= dual.upper[i] and beta[j] - size >= dual.lower[j] and beta[i] != 0:
                moved[i] += size
                moved[j] -= size
                return moved
    raise AssertionError("no room to move")


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("machine", MACHINES)
def test_numbers_are_those_of_the_definitions(machine, data, rng):
    """At a random point, feasible or not: primal, dual, gap, violation, counts."""
    X = DATA[data](N, rng)
    K = KERNELS["rbf"][1](as_array(X), as_array(X))
    dual = MACHINES[machine](noisy_scores(X, rng), rng.choice([0.5, 2.0], N))
    beta = np.clip(rng.normal(size=len(dual)), dual.lower, dual.upper)
    here = values_at(dual, K, beta)
    level = rng.normal(size=dual.n_groups)
    certificate = certify(dual, KERNELS["rbf"][0], X, beta, 1e-3, thresholds=level)
    assert certificate.objective == pytest.approx(-here.objective, rel=1e-10, abs=1e-10)
    assert certificate.dual <= -here.objective
    assert (
        certificate.primal <= primal_at(dual, here.function, here.norm2, level) * (1 + 1e-10) + 10 * here.infeasibility
    )
    lowest = minimize_scalar(
        lambda s: primal_at(dual, here.function, here.norm2, level, s),
        bounds=(0, 50),
        method="bounded",
        options={"xatol": 1e-9},
    )
    assert certificate.primal >= lowest.fun - 1e-6 * abs(lowest.fun)
    primal, value = certificate.primal, certificate.objective
    largest = abs(primal) if value > 0.0 else max(abs(value), 0.5 * (primal - value))
    assert certificate.gap == pytest.approx((primal - value) / largest, rel=1e-6)
    assert certify(dual, KERNELS["rbf"][0], X, beta, 1e-3).violation == pytest.approx(here.violation, rel=1e-9)
    assert certificate.violation >= here.violation - 1e-9
    assert certificate.n_support == np.count_nonzero(dual.per_sample(beta))
    total = np.abs(beta).sum()
    assert certificate.infeasibility == pytest.approx(here.infeasibility / total, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("degree", [2, 3, 5])
@pytest.mark.parametrize("scale", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("C", [1.0, 1e6])
def test_the_gap_is_what_the_printed_bounds_give(C, scale, degree):
    """With kernel values of 1e20 the conditions are met to tol at a primal that is 3e6 times the dual."""
    X = scale * np.eye(2)
    certificate = SVC(kernel="poly", degree=degree, gamma=1.0, C=C).fit(X, [0, 1]).certificate_
    given = (certificate.primal - certificate.dual) / certificate.primal
    assert certificate.holds and certificate.dual > 0.0
    assert certificate.gap <= given * (1.0 + 1e-9) <= 1.0 + 1e-9
    if given > 1e-6:
        assert certificate.gap == pytest.approx(given, rel=1e-3)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_gap_bounds_the_distance_to_the_optimum(machine, rng):
    X, K, dual, trained = solved(machine, rng)
    best = -solve_qp(dual, K)[0]
    for size in (0.0, 1e-4, 1e-2, 0.1):
        beta = within_group(dual, trained.solution.beta, size) if size else trained.solution.beta
        certificate = certify(dual, KERNELS["rbf"][0], X, beta)
        slack = 1e-8 * max(1.0, abs(best))
        assert certificate.dual <= best + slack
        assert certificate.primal >= best - slack


@pytest.mark.parametrize("machine", MACHINES)
def test_perturbed_multipliers_are_refused(machine, rng):
    X, _, dual, trained = solved(machine, rng)
    good = certify(dual, KERNELS["rbf"][0], X, trained.solution.beta, TOL * 1.01)
    assert good.holds
    bad = certify(dual, KERNELS["rbf"][0], X, within_group(dual, trained.solution.beta, 1e-3), TOL * 1.01)
    assert bad.infeasibility <= 1e-12 and not bad.holds
    assert bad.violation > 1e-4 and bad.gap > good.gap


@pytest.mark.parametrize("machine", MACHINES)
def test_infeasible_multipliers_are_refused(machine, rng):
    X, _, dual, trained = solved(machine, rng)
    beta = trained.solution.beta
    i = int(np.argmax(np.abs(beta)))
    sum_broken = beta.copy()
    sum_broken[i] *= 1 - 1e-6
    assert certify(dual, KERNELS["rbf"][0], X, sum_broken, 1.0).infeasibility > 1e-9
    assert not certify(dual, KERNELS["rbf"][0], X, sum_broken, 1.0).holds
    if np.isfinite(dual.upper).all():
        outside = beta.copy()
        at = int(np.flatnonzero(beta == dual.upper)[0])
        other = int(
            np.flatnonzero((dual.group == dual.group[at]) & (beta > dual.lower + 1e-3) & (np.arange(len(beta)) != at))[
                0
            ]
        )
        outside[at] += 1e-6
        outside[other] -= 1e-6
        certificate = certify(dual, KERNELS["rbf"][0], X, outside, 1.0)
        assert certificate.infeasibility == pytest.approx(1e-6 / np.abs(outside).max(), rel=1e-3)
        assert not certificate.holds


@pytest.mark.parametrize("machine", MACHINES)
def test_a_wrong_level_is_refused(machine, rng):
    X, _, dual, trained = solved(machine, rng)
    beta, level = trained.solution.beta, trained.solution.thresholds
    kernel = KERNELS["rbf"][0]
    assert certify(dual, kernel, X, beta, 2 * TOL, thresholds=level).holds
    for g in range(dual.n_groups):
        for linear_term in (-0.01, 0.01):
            wrong = level.copy()
            wrong[g] += linear_term
            certificate = certify(dual, kernel, X, beta, 2 * TOL, thresholds=wrong)
            assert not certificate.holds
            assert certificate.violation == pytest.approx(0.01, rel=1e-2)
            assert certificate.primal >= trained.certificate.primal - 1e-9


def test_an_early_stop_is_refused(rng):
    X, dual = overlapping(N, rng)
    trained = train_one(KERNELS["rbf"][0], X, dual, tol=1e-3, max_iter=10)
    assert not trained.certificate.holds and trained.certificate.gap > 1e-3
    assert "max_iter" in str(trained.certificate) and "DOES NOT HOLD" in str(trained.certificate)


@pytest.mark.parametrize("where", ["beta", "one of beta", "function", "one of function"])
def test_nan_is_refused(where, rng):
    _, K, dual, trained = solved("hinge", rng)
    beta, function = trained.solution.beta.copy(), trained.solution.Kb.copy()
    target = beta if "beta" in where else function
    target[slice(0, 1) if "one" in where else slice(None)] = np.nan
    if "beta" in where:
        function = K @ beta
    assert not certify_function(dual, beta, exact(function), 1e-3, diagonal=1.0).holds


def test_an_infinite_primal_of_an_unknown_kernel_is_refused(rng):
    good = dataclasses.replace(solved("hinge", rng)[3].certificate, is_psd=False)
    assert good.holds
    assert "if the kernel is positive semi-definite" in str(good)
    assert not dataclasses.replace(good, primal=np.inf).holds


@pytest.mark.parametrize("machine", MACHINES)
def test_errors_of_the_function_widen_every_bound(machine, rng):
    """Whatever the true function is within its error, the bounds contain what it gives."""
    _, K, dual, trained = solved(machine, rng)
    beta, F = trained.solution.beta, trained.solution.Kb
    for size in (1e-9, 1e-5, 1e-2):
        error = size * rng.random(len(F))
        known = certify_function(dual, beta, Scores(F, error), 1e-3, diagonal=K.max())
        for corner in (rng.choice([-1.0, 1.0], len(F)) for _ in range(20)):
            level = np.array(known.level)
            true = certify_function(dual, beta, exact(F + corner * error), 1e-3, thresholds=level, diagonal=K.max())
            free = certify_function(dual, beta, exact(F + corner * error), 1e-3, diagonal=K.max())
            assert known.violation >= free.computed - 1e-14
            assert known.dual <= true.objective and known.primal >= true.objective
            assert known.gap * max(abs(true.objective), 1e-300) >= 0.0
        assert known.rounding == error.max()
        assert not known.violation <= free.violation - 2 * size


def test_what_rounding_leaves_open_is_undecided(rng):
    _, K, dual, trained = solved("hinge", rng)
    tol = 2 * trained.certificate.violation
    beta, Kb = trained.solution.beta, trained.solution.Kb
    for error, holds, undecided in ((0.0, True, False), (0.1 * tol, True, False), (tol, False, True)):
        certificate = certify_function(dual, beta, Scores(Kb, np.full(len(Kb), error)), tol, diagonal=K.max())
        assert (certificate.holds, certificate.is_undecided) == (holds, undecided)


def test_printed_facts(rng):
    _, _, _, trained = solved("hinge", rng)
    text = str(trained.certificate)
    c = trained.certificate
    for fact in (
        "holds", f"{c.violation:.3e}", f"{c.gap:.3e}", f"{c.primal:.10g}", f"{c.dual:.10g}",
        f"{c.n_support} ({c.n_free} free)", str(c.iterations), "kkt", "1.0e-06",
    ):  # fmt: skip
        assert fact in text
    assert "DOES NOT" not in text


def test_printed_facts_of_many_problems_say_what_they_are_about(rng):
    X, y = rng.normal(size=(90, 3)), np.repeat(np.arange(3), 30)
    for model in (SVC().fit(X, y), SVC(multi_class="ovr", verbose=False, trace=True).fit(X, y), LinearSVC().fit(X, y)):
        c = model.certificate_
        rows = {line[:22].strip(): line[23:] for line in str(c).splitlines()}
        assert max(map(len, str(c).splitlines())) <= 80
        assert rows["certificate"] == "holds for all 3 problems"
        assert "worst problem" in rows["relative gap"] and "worst problem" in rows["largest KKT violation"]
        assert all(rows[name].endswith("(sum)") for name in ("objective", "primal, at most", "dual, at least"))
        assert rows["support vectors"].startswith(f"{c.n_distinct} samples, {c.n_support} multipliers")
        assert c.n_distinct == len(getattr(model, "support_", range(c.n_distinct))) <= len(X) < c.n_support
    assert verify(SVC().fit(X, y), X, y).n_distinct == len(SVC().fit(X, y).support_)
    with pytest.warns(ConvergenceWarning):
        model = SVC(max_iter=1).fit(X, y)
    assert "DOES NOT HOLD for 3 of 3 problems" in str(model.certificate_)


def test_tol_stands_beside_the_quantity_it_limits(rng):
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    for model, name in (
        (SVC(), "largest KKT violation"),
        (SVC(stopping="gap"), "relative gap"),
        (LinearSVC(), "relative gap"),
    ):
        line = str(model.fit(X, y).certificate_).splitlines()[1]
        assert line.startswith(name) and "tol" in line
        assert f"{name} {model.certificate_.bound:.3e}" in model._repr_html_()  # the badge


def test_a_large_gap_beside_a_small_violation_is_explained(rng):
    c = solved("hinge", rng)[3].certificate
    assert "large gap" not in str(c)
    large = str(dataclasses.replace(c, gap=0.2))
    assert 'stopping="gap"' in large and max(map(len, large.splitlines())) <= 80
    assert "large gap" not in str(dataclasses.replace(c, gap=0.2, criterion="gap"))  # then it does not hold


@pytest.mark.parametrize("status", [s for s in Status if s is not Status.OPTIMAL])
def test_every_other_ending_is_printed_as_its_sentence(status, rng):
    _, _, _, trained = solved("hinge", rng)
    assert status.value in str(dataclasses.replace(trained.certificate, status=status))
    assert not status.converged


def test_combine_adds_objectives_and_takes_the_worst_of_the_rest(rng):
    a, b = (solved("hinge", np.random.default_rng(seed))[3].certificate for seed in (1, 2))
    both = combine([a, b])
    assert both.primal == a.primal + b.primal and both.dual == a.dual + b.dual
    assert both.violation == max(a.violation, b.violation) and both.gap == max(a.gap, b.gap)
    assert both.n_support == a.n_support + b.n_support and both.iterations == a.iterations + b.iterations
    assert both.holds and both.status is Status.OPTIMAL
    assert combine([a]) is a
    late = dataclasses.replace(b, status=Status.MAX_ITER, violation=1.0)
    both = combine([a, late])
    assert not both.holds and both.status is Status.MAX_ITER


@pytest.mark.parametrize("ended", [Status.TIME_LIMIT, Status.INTERRUPTED])
def test_combine_says_what_ended_the_whole_fit(ended, rng):
    certificate = solved("hinge", rng)[3].certificate
    parts = [dataclasses.replace(certificate, status=one) for one in (Status.OPTIMAL, Status.UNDECIDED, ended)]
    assert combine(parts).status is ended
    assert combine(parts[:2]).status is Status.UNDECIDED
    assert combine(parts[:1] * 2).status is Status.OPTIMAL


def test_combine_holds_only_if_every_part_does(rng):
    a = dataclasses.replace(solved("hinge", rng)[3].certificate, criterion="gap", tol=1e-3)
    good = dataclasses.replace(a, gap=1e-3)
    bad = dataclasses.replace(a, gap=1.01e-3)
    assert good.holds and not bad.holds
    assert not combine([good, bad]).holds


def test_combine_holds_if_every_part_does(rng):
    a = dataclasses.replace(solved("hinge", rng)[3].certificate, criterion="gap", tol=1e-3)
    parts = [dataclasses.replace(a, primal=p, dual=p - 0.9e-3, gap=0.9e-3) for p in (0.001, -0.001, 0.002)]
    assert all(part.holds for part in parts)
    assert combine(parts).holds


def test_certify_needs_nothing_but_multipliers_kernel_and_data(rng):
    _, K, dual, trained = solved("epsilon_insensitive", rng)
    one = certify(dual, GivenMatrix(K), None, trained.solution.beta, TOL * 1.01)
    assert one.holds and one.status is None and np.isnan(one.drift)
    assert one.dual == pytest.approx(trained.certificate.dual, rel=1e-12)


def test_levels_lie_between_the_thresholds_whatever_the_rounding_of_their_mean():
    """A mean of many equal slopes is off by rounding; the level must not violate what the slopes themselves meet."""
    slopes = np.full(1001, 10000.1)
    dual = hinge(np.where(np.arange(1001) % 2, 1.0, -1.0), np.ones(1001))
    beta = 0.5 * dual.upper + 0.5 * dual.lower
    beta[-1] = 0.0
    dual = dataclasses.replace(dual, start=beta)
    Kb = exact(slopes - dual.linear_term)
    known = certify_function(dual, beta, Kb, 1e-3, diagonal=1.0)
    again = certify_function(dual, beta, Kb, 1e-3, thresholds=np.array(known.level), diagonal=1.0)
    assert again.violation == known.violation
