"""What must be true of every answer, tried on random problems: invariances, monotony, bounds, warm starts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tests.oracles import KERNELS, MACHINES, WITHOUT_BIAS, GivenMatrix, noisy_scores, signs, values_at, without_groups
from tests.samples import overlapping, train_one
from widemargin.certificate import certify_function
from widemargin.gram.scores import Scores
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.problems import hinge, nu_classification, nu_margin, nu_regression, nu_tube, one_class
from widemargin.solvers import solve_blocks
from widemargin.training.fit import Training
from widemargin.training.task import Task

TOL = 1e-8  # a violation of TOL leaves decision values within about TOL times the condition of the free part
NEAR = {"rtol": 1e-5, "atol": 1e-5}

seeds = st.integers(0, 2**32 - 1)
machines = st.sampled_from(sorted(MACHINES))
kernels = st.sampled_from(["linear", "poly", "rbf"])


def problem(seed, machine, kernel, n=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    target = noisy_scores(X, rng)
    weight = rng.choice([0.5, 1.0, 2.0], n)
    return rng, X, target, weight, KERNELS[kernel][1](X, X)


def solve(K, dual, tol=TOL, **options):
    trained = Training(GivenMatrix(K), np.arange(len(K)), n_jobs=1).train(
        [Task(dual)], Stopping(tol=tol, time_limit=60.0), **options
    )[0]
    assert trained.solution.status is Status.OPTIMAL
    return trained.solution


def feasible(dual, rng):
    """A random point of the box with the sums of the groups: the start, moved by random pairs within the box."""
    beta = dual.start.copy()
    lower, upper = np.maximum(dual.lower, -5.0), np.minimum(dual.upper, 5.0)
    if dual.n_groups == 0:
        return rng.uniform(lower, upper)
    for _ in range(4 * len(beta)):
        i, j = rng.integers(0, len(beta), 2)
        if dual.group[i] == dual.group[j] and i != j:
            step = rng.random() * max(0.0, min(upper[i] - beta[i], beta[j] - lower[j]))
            beta[i] += step
            beta[j] -= step
    return np.clip(beta, lower, upper)


@given(seeds, machines, kernels)
def test_gap_is_never_negative_at_any_feasible_point(seed, machine, kernel):
    rng, X, target, weight, K = problem(seed, machine, kernel)
    dual = MACHINES[machine](target, weight)
    duals = [dual, without_groups(dual)] if machine in WITHOUT_BIAS else [dual]
    for dual in duals:
        for beta in (dual.start, feasible(dual, rng), feasible(dual, rng)):
            Kb = K @ dual.per_sample(beta)
            scores = Scores(Kb, np.zeros(len(Kb)))
            certificate = certify_function(dual, beta, scores, 1e-3, diagonal=K.max())
            assert certificate.infeasibility <= 1e-12
            assert certificate.gap >= 0.0
            for _ in range(3):  # and at any level, not only at the one that fits
                level = rng.normal(size=dual.n_groups) * 2.0
                assert certify_function(dual, beta, scores, 1e-3, thresholds=level).gap >= 0.0


@given(seeds, machines, kernels)
def test_dual_objective_never_rises(seed, machine, kernel):
    _, _, target, weight, K = problem(seed, machine, kernel, n=60)
    dual = MACHINES[machine](target, weight)
    seen = []
    budget = 0
    beta = dual.start
    for budget in (3, 5, 20, 100, -1):  # small budgets make many rounds out of a problem that is solved in one
        stop = Stopping(tol=TOL, max_iter=budget, time_limit=60.0)
        trained = Training(GivenMatrix(K), None, n_jobs=1).train(
            [Task(dual, start=beta)], stop, watch=lambda info: seen.append(info.objective)
        )[0]
        beta = trained.solution.beta
        seen.append(values_at(dual, K, beta).objective)
    steps = np.diff(seen)
    rounding = 1e-14 * np.abs(beta).sum() ** 2 * np.abs(K).max()  # of b'Kb: the objective itself may be zero
    assert np.all(steps <= rounding + 1e-13 * np.abs(seen).max())
    assert seen[-1] < seen[0] or len(set(seen)) == 1


@given(
    seeds, st.sampled_from(["hinge", "squared_hinge", "epsilon_insensitive", "one_class", "nu_classification"]), kernels
)
def test_order_of_the_samples_does_not_matter(seed, machine, kernel):
    rng, _, target, weight, K = problem(seed, machine, kernel)
    order = rng.permutation(len(K))
    one = solve(K, MACHINES[machine](target, weight))
    other = solve(K[np.ix_(order, order)], MACHINES[machine](target[order], weight[order]))
    assert other.objective == pytest.approx(one.objective, rel=1e-7, abs=1e-7)
    np.testing.assert_allclose(other.Kb, one.Kb[order], **NEAR)


@given(seeds, kernels, st.sampled_from(["hinge", "squared_hinge"]))
def test_flipping_the_labels_flips_the_function(seed, kernel, machine):
    _, _, target, weight, K = problem(seed, machine, kernel)
    y = signs(target)
    one, other = solve(K, MACHINES[machine](y, weight)), solve(K, MACHINES[machine](-y, weight))
    assert other.objective == pytest.approx(one.objective, rel=1e-7)
    np.testing.assert_allclose(other.Kb - other.thresholds[0], -(one.Kb - one.thresholds[0]), **NEAR)


@given(
    seeds,
    kernels,
    st.sampled_from(
        [
            "hinge",
            "squared_hinge",
            "epsilon_insensitive",
            "squared_epsilon_insensitive",
            "one_class",
            "nu_classification",
            "nu_regression",
        ]
    ),
)
def test_a_weight_of_two_is_the_sample_twice(seed, kernel, machine):
    rng, _, target, _, K = problem(seed, machine, kernel)
    n = len(K)
    twice = rng.choice(n, 10, replace=False)
    weight = np.ones(n)
    weight[twice] = 2.0
    rows = np.concatenate([np.arange(n), twice])
    one = solve(K, MACHINES[machine](target, weight))
    other = solve(K[np.ix_(rows, rows)], MACHINES[machine](target[rows], np.ones(len(rows))))
    assert other.objective == pytest.approx(one.objective, rel=1e-7, abs=1e-7)
    np.testing.assert_allclose(other.Kb[:n], one.Kb, **NEAR)


@given(seeds, kernels, machines)
def test_a_weight_of_zero_is_no_sample(seed, kernel, machine):
    rng, _, target, weight, K = problem(seed, machine, kernel)
    gone = rng.choice(len(K), 12, replace=False)
    weight[gone] = 0.0
    kept = np.flatnonzero(weight)
    if len(set(signs(target)[kept])) < 2:
        return
    labels = signs(target)  # taken before the cut, so that both machines see the same labels
    values = labels if "classification" in machine or "hinge" in machine else target
    one = solve(K, MACHINES[machine](values, weight))
    other = solve(K[np.ix_(kept, kept)], MACHINES[machine](values[kept], weight[kept]))
    assert other.objective == pytest.approx(one.objective, rel=1e-7, abs=1e-7)
    np.testing.assert_allclose(other.Kb, one.Kb[kept], **NEAR)


@given(seeds, kernels, st.sampled_from(WITHOUT_BIAS), st.floats(-6, 6), st.booleans())
def test_scaling_kernel_and_C_against_each_other(seed, kernel, machine, exponent, free_bias):
    """With s K and C / s the multipliers are b / s, the function is the same and the objective is divided by s."""
    _, _, target, weight, K = problem(seed, machine, kernel)
    s = 10.0**exponent
    duals = [MACHINES[machine](target, weight), MACHINES[machine](target, weight / s)]
    if not free_bias:
        duals = [without_groups(dual) for dual in duals]
    one, other = solve(K, duals[0]), solve(s * K, duals[1])
    assert s * other.objective == pytest.approx(one.objective, rel=1e-6, abs=1e-6)
    np.testing.assert_allclose(other.Kb, one.Kb, **NEAR)


@given(seeds, kernels, st.floats(0.05, 0.9))
def test_nu_bounds_of_classification(seed, kernel, nu):
    _, _, target, weight, K = problem(seed, "nu_classification", kernel)
    y = signs(target)
    m = weight.sum()
    nu = min(nu, 2 * min(weight[y > 0].sum(), weight[y < 0].sum()) / m)
    solution = solve(K, nu_classification(y, nu, weight))
    margin, bias = nu_margin(solution.thresholds)
    order = np.argsort(-y, kind="stable")  # variables stand by class
    alpha = np.empty(len(y))
    alpha[order] = np.abs(solution.beta)
    errors = weight[y * (solution.Kb + bias) < margin - 1e-6].sum() / m
    assert errors <= nu + 1e-9
    assert nu - 1e-9 <= weight[alpha > 0].sum() / m


@given(seeds, kernels, st.floats(0.05, 0.95))
def test_nu_bounds_of_regression(seed, kernel, nu):
    _, _, y, _, K = problem(seed, "nu_regression", kernel)
    n = len(y)
    solution = solve(K, nu_regression(y, np.full(n, 2.0), nu))
    tube, bias = nu_tube(solution.thresholds)
    outside = np.mean(np.abs(y - solution.Kb - bias) > tube + 1e-6)
    assert outside <= nu + 1e-9
    assert nu - 1e-9 <= np.mean((solution.beta[:n] > 0) | (solution.beta[n:] < 0))


@given(seeds, kernels, st.floats(0.02, 0.98))
def test_nu_bounds_of_one_class(seed, kernel, nu):
    _, _, _, weight, K = problem(seed, "one_class", kernel)
    solution = solve(K, one_class(weight, nu))
    outside = weight[solution.Kb < solution.thresholds[0] - 1e-6].sum() / weight.sum()
    assert outside <= nu + 1e-9
    assert nu - 1e-9 <= weight[solution.beta > 0].sum() / weight.sum()


@given(seeds, kernels, machines)
def test_warm_start_at_the_optimum_takes_no_step(seed, kernel, machine):
    _, _, target, weight, K = problem(seed, machine, kernel)
    dual = MACHINES[machine](target, weight)
    training = Training(GivenMatrix(K), None, n_jobs=1)
    first = training.train([Task(dual)], Stopping(tol=1e-6))[0].solution
    again = training.train([Task(dual, start=first.beta)], Stopping(tol=1e-6))[0].solution
    assert again.iterations == 0 and again.status is Status.OPTIMAL
    np.testing.assert_array_equal(again.beta, first.beta)


@given(seeds, kernels, machines)
def test_warm_start_from_any_feasible_point_reaches_the_same_value(seed, kernel, machine):
    rng, _, target, weight, K = problem(seed, machine, kernel)
    dual = MACHINES[machine](target, weight)
    start = feasible(dual, rng)
    kept = start.copy()
    cold = solve(K, dual)
    warm = Training(GivenMatrix(K), None, n_jobs=1).train([Task(dual, start=start)], Stopping(tol=TOL))[0].solution
    assert warm.objective == pytest.approx(cold.objective, rel=1e-7, abs=1e-7)
    np.testing.assert_array_equal(start, kept)  # the caller's array is left alone


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("binary", [False, True], ids=["numbers", "binary"])
def test_every_way_to_hold_the_same_data_gives_the_same_answer(kernel, binary, rng):
    X = np.zeros((80, 50))
    for row in X:
        row[rng.choice(50, 4, replace=False)] = 1.0 if binary else rng.integers(-8, 9, 4) / 8.0  # exact in float32 too
    dual = hinge(signs(noisy_scores(X, rng)), np.ones(80))
    frozen = X.copy()
    frozen.flags.writeable = False
    wide_index = sparse.csr_array(X)
    wide_index.indices, wide_index.indptr = wide_index.indices.astype(np.int64), wide_index.indptr.astype(np.int64)
    ways = {
        "C order": X,
        "Fortran order": np.asfortranarray(X),
        "every second row": np.repeat(X, 2, axis=0)[::2],
        "float32": X.astype(np.float32),
        "read-only": frozen,
        "csr": sparse.csr_array(X),
        "csr, 64-bit indices": wide_index,
        "csr, float32": sparse.csr_array(X.astype(np.float32)),
        "csc": sparse.csc_array(X),
        "lists": X.tolist(),
    }
    if binary:
        ways |= {"bool": X.astype(bool), "int8": X.astype(np.int8)}
    reference = None
    for name, data in ways.items():
        trained = train_one(KERNELS[kernel][0], data, dual, tol=1e-7)
        assert trained.certificate.holds, name
        decision = trained.solution.Kb - trained.solution.thresholds
        reference = decision if reference is None else reference
        np.testing.assert_allclose(decision, reference, atol=1e-5, err_msg=name)


def test_the_same_problem_twice_gives_the_same_bits(rng):
    X, dual = overlapping(200, rng)
    one, other = (Training(KERNELS["rbf"][0], X).train([Task(dual)], Stopping())[0].solution for _ in range(2))
    np.testing.assert_array_equal(one.beta, other.beta)
    assert one.iterations == other.iterations


def test_solver_leaves_the_problem_untouched(rng):
    X = rng.normal(size=(30, 3))
    K = KERNELS["rbf"][1](X, X)
    dual = MACHINES["nu_regression"](noisy_scores(X, rng), np.ones(30))
    before = {
        name: getattr(dual, name).copy()
        for name in ("linear_term", "lower", "upper", "start", "diagonal", "epsilon", "group")
    }
    from widemargin.gram import FullGram

    matrix = K.copy()
    solve_blocks(dual, FullGram(matrix), Stopping(tol=1e-6))
    np.testing.assert_array_equal(matrix, K)
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(dual, name), value)
