"""The parts of the algorithms against hand-made answers and plain loops written from the texts."""

from dataclasses import replace

import numpy as np
import pytest

from tests.oracles import KERNELS, noisy_scores, signs, solve_qp, values_at
from tests.reference.solvers import small_problem
from tests.samples import overlapping
from widemargin.gram import CachedGram, FullGram
from widemargin.gram.kernel_values import add_point, kernel_value, product, unload, values_of
from widemargin.kernels import Gaussian, Laplacian, Linear, Polynomial
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.problems import hinge
from widemargin.problems.primal import best_primal
from widemargin.solvers.reference import (
    Adatron,
    Coordinate,
    FixedThreshold,
    Gradient,
    Keerthi,
    Multiplicative,
    NearestPoints,
    Perceptron,
    Platt,
    Simplified,
    visits,
)
from widemargin.solvers.reference.adatron import above_mean, gap_contributions
from widemargin.solvers.reference.conjugate_gradient import minimise
from widemargin.solvers.reference.gradient import project
from widemargin.solvers.reference.multiplicative import rescale
from widemargin.solvers.reference.pair_move import Multiplier, pair_move
from widemargin.solvers.reference.passes import Run
from widemargin.solvers.reference.qp import QuadraticProgramme, matrices
from widemargin.solvers.reference.working_set import working_set


# ----- the pair step
def pair(b1, b2, f1, f2, K, box1=(0.0, 1.0), box2=(-1.0, 0.0), epsilon=0.0):
    (k11, k12), (_, k22) = K
    one, two = Multiplier(b1, f1, *box1, epsilon), Multiplier(b2, f2, *box2, epsilon)
    return pair_move(one, two, k11 + k22 - 2 * k12, k11 + k22)


def test_pair_step_between_two_classes():
    """y = (+1, -1) at 0 and 2 on a line: alpha = 2 / distance^2 = 1/2 for both, Platt (16)."""
    b1, b2, decrease = pair(0.0, 0.0, -1.0, 1.0, [[0.0, 0.0], [0.0, 4.0]])
    assert (b1, b2) == (0.5, -0.5)
    assert decrease == pytest.approx(0.5)  # W = sum alpha - 1/2 |w|^2 = 1 - 1/2


def test_pair_step_is_clipped_to_the_box_exactly():
    b1, b2, _ = pair(0.0, 0.0, -1.0, 1.0, [[0.0, 0.0], [0.0, 4.0]], box1=(0.0, 0.3), box2=(-0.7, 0.0))
    assert b1 == 0.3 and b2 == -0.3
    b1, b2, _ = pair(0.1, -0.1, -1.0, 1.0, [[0.0, 0.0], [0.0, 4.0]], box1=(0.0, 0.9), box2=(-0.3, 0.0))
    assert b2 == -0.3 and b1 == pytest.approx(0.3, abs=1e-16)


def test_equal_points_go_to_the_better_end():
    """eta = 0: the objective is linear, (19) chooses the end; no slope, no step."""
    K = [[1.0, 1.0], [1.0, 1.0]]
    assert pair(0.2, -0.2, -1.0, 1.0, K)[:2] == (1.0, -1.0)
    assert pair(0.2, -0.2, 1.0, -1.0, K)[:2] == (0.0, 0.0)
    assert pair(0.2, -0.2, 0.5, 0.5, K) == (0.2, -0.2, 0.0)


def test_negative_curvature_takes_the_lower_of_both_ends():
    K = [[0.0, 1.0], [1.0, 0.0]]  # eta = -2
    for b in (-0.2, -0.7):
        ends = [(-1.0, 1.0), (0.0, 0.0)]
        value = {end: (end[0] - b) * 0.1 - (end[0] - b) ** 2 for end in ends}  # slope 0.1 in b_2
        b1, b2, decrease = pair(-b, b, 0.0, 0.1, K)
        best = min(ends, key=value.get)
        assert (b2, b1) == best
        assert decrease == pytest.approx(-value[best])


@pytest.mark.parametrize("seed", range(20))
def test_pair_step_with_kinks_finds_the_minimum_along_the_line(seed):
    """Theorem 7.18, repeated: steps within quadrants lead to the minimum that a fine grid sees."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(2, 2))
    K = A @ A.T + 0.1 * np.eye(2)
    c, e, C = rng.normal(size=2), 0.3, 1.0
    start = np.clip(rng.choice([0.0, 0.4, -0.6, 1.0], 2), -C, C)

    def value(b):
        return 0.5 * b @ K @ b + c @ b + e * np.abs(b).sum()

    b = start.copy()
    for _ in range(4):  # at most one step per quadrant that the line crosses
        f = K @ b + c
        b1, b2, _ = pair(b[0], b[1], f[0], f[1], K, (-C, C), (-C, C), e)
        b = np.array([b1, b2])
    total = start.sum()
    grid = np.linspace(max(-C, total - C), min(C, total + C), 200_001)
    values = (
        0.5 * (K[0, 0] * (total - grid) ** 2 + K[1, 1] * grid**2 + 2 * K[0, 1] * (total - grid) * grid)
        + c[0] * (total - grid) + c[1] * grid + e * (np.abs(total - grid) + np.abs(grid))
    )  # fmt: skip
    assert value(b) <= values.min() + 1e-9
    assert b.sum() == pytest.approx(total, abs=1e-15)


# ----- kernel values from points
POINTS = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 0.0]])


@pytest.mark.parametrize("form", ["dense", "sparse", "binary", "matrix"])
@pytest.mark.parametrize("kernel", [Linear(), Gaussian(0.4), Polynomial(2, 0.5, 1.0)], ids=["linear", "rbf", "poly"])
def test_every_form_gives_the_same_kernel_values(kernel, form):
    values = values_of(FullGram.of(kernel, kernel.prepare(POINTS), np.float64), form)
    expected = kernel(POINTS)
    work = np.zeros(3)
    for i in range(4):
        add_point(values, i, 1.0, work)
        for j in range(4):
            assert kernel_value(values, work, i, j) == pytest.approx(expected[i, j], rel=1e-12)
        unload(values, i, work)
        assert not work.any()
    if form != "matrix":
        weights = np.zeros(3)
        add_point(values, 2, 0.5, weights)
        add_point(values, 0, -2.0, weights)
        np.testing.assert_array_equal(weights, 0.5 * POINTS[2] - 2.0 * POINTS[0])
        assert product(values, weights, 3) == 0.5


@pytest.mark.parametrize("data", ["narrow", "wide", "csr", "binary", "binary-csr"])
def test_points_are_read_back_from_every_representation(data, rng):
    from tests.oracles import DATA, as_array

    X = DATA[data](20, rng)
    for kernel in (Linear(), Gaussian(0.2)):
        values = values_of(CachedGram(kernel, kernel.prepare(X), np.float64, 0))
        work = np.zeros(as_array(X).shape[1])
        add_point(values, 3, 1.0, work)
        row = [kernel_value(values, work, 3, j) for j in range(20)]
        np.testing.assert_allclose(row, kernel(X)[3], rtol=1e-10, atol=1e-12)


def test_forms_that_do_not_fit_are_said():
    gram = FullGram.of(Linear(), Linear().prepare(0.5 * POINTS), np.float64)
    with pytest.raises(ValueError, match="form='binary' needs features that are all 0 or 1"):
        values_of(gram, "binary")
    gram = FullGram.of(Laplacian(1.0), Laplacian(1.0).prepare(POINTS), np.float64)
    with pytest.raises(ValueError, match="form='sparse' needs the points themselves"):
        values_of(gram, "sparse")


@pytest.mark.parametrize("solver", [Platt, Keerthi])
@pytest.mark.parametrize("kernel", [Linear(), Gaussian(0.3)], ids=["linear", "rbf"])
def test_smo_agrees_in_every_form(solver, kernel, rng):
    X = (rng.random((60, 12)) < 0.3).astype(float)
    y = signs(noisy_scores(X, rng))
    dual = hinge(y, np.ones(60))
    gram = FullGram.of(kernel, kernel.prepare(X), np.float64)
    best, _ = solve_qp(dual, kernel(X))
    for form in ("dense", "sparse", "binary", "matrix"):
        solution = solver(form=form).solve(dual, gram, Stopping(tol=1e-6))
        assert solution.status is Status.OPTIMAL
        assert values_at(dual, kernel(X), solution.beta).objective == pytest.approx(best, rel=1e-8)


def test_smo_on_rows_that_are_not_held(rng):
    """Beyond the full matrix: points for the kernels that have them, the matrix of others."""
    X, dual = overlapping(50, rng)
    for kernel in (Gaussian(0.5), Laplacian(0.5), Linear()):
        gram = CachedGram(kernel, kernel.prepare(X), np.float64, 10**5)
        best, _ = solve_qp(dual, kernel(X))
        assert Platt().solve(dual, gram, Stopping(tol=1e-6)).objective == pytest.approx(best, rel=1e-8)


# ----- one variable at a time
def table_7_1(K, y, C, omega, passes):
    """The loop of Table 7.1, word for word, in alpha."""
    alpha = np.zeros(len(y))
    for _ in range(passes):
        for i in range(len(y)):
            alpha[i] += omega / K[i, i] * (1.0 - y[i] * (alpha * y) @ K[i])
            alpha[i] = min(max(alpha[i], 0.0), C)
    return alpha


@pytest.mark.parametrize("omega", [0.7, 1.0, 1.6])
@pytest.mark.parametrize("chunk", [None, 7])
def test_adatron_is_the_loop_of_table_7_1(omega, chunk, monkeypatch):
    """Also when a pass is cut into chunks of seven points and rows come from a cache."""
    if chunk is not None:
        monkeypatch.setattr(visits, "WHOLE", 10)
        monkeypatch.setattr(visits, "CHUNK", chunk)
    dual, K = small_problem("hinge", fixed=True)
    y = -dual.linear_term
    solver = Adatron(omega=omega, max_passes=3)
    solution = solver.solve(dual, FullGram(K), Stopping(tol=1e-12))
    assert solution.rounds == 3
    np.testing.assert_allclose(y * solution.beta, table_7_1(K, y, 3.0, omega, 3), atol=1e-12)


def test_fixed_threshold_is_equation_23():
    dual, K = small_problem("hinge", fixed=True)
    y = -dual.linear_term
    solution = FixedThreshold().solve(dual, FullGram(K), Stopping(tol=1e-12, max_iter=1))
    first = np.flatnonzero(solution.beta)
    assert first.tolist() == [0]
    E = -y[0]  # u = 0
    assert y[0] * solution.beta[0] == pytest.approx(min(3.0, 0.0 - y[0] * E / K[0, 0]))


def test_greedy_coordinate_ascent_takes_the_largest_gain_first():
    dual, K = small_problem("hinge", fixed=True)
    solution = Coordinate("greedy").solve(dual, FullGram(K), Stopping(tol=1e-12, max_iter=1))
    step = np.minimum(1.0 / np.diagonal(K), 3.0)
    gain = step - 0.5 * np.diagonal(K) * step**2
    assert gain[np.flatnonzero(solution.beta)[0]] == pytest.approx(gain.max())
    assert np.count_nonzero(solution.beta) == 1


def contributions(machine, n=60):
    """A run part of the way to the optimum, and the contribution of each point to the gap."""
    dual, K = small_problem(machine, n=n, fixed=True)
    some = Adatron(max_passes=2).solve(dual, FullGram(K), Stopping(tol=1e-9))
    run = Run(dual, FullGram(K), Stopping(tol=1e-3), some.beta, None)
    return dual, K, run, gap_contributions(run)


@pytest.mark.parametrize("machine", ["hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive"])
def test_contributions_add_up_to_the_gap(machine):
    """Remark 7.2; the primal at scale one, from the definition of the loss."""
    dual, K, run, share = contributions(machine)
    F = K @ run.beta
    primal, _ = best_primal(dual, F, float(run.beta @ F), np.zeros(0))
    assert np.all(share >= -1e-12)
    assert share.sum() >= primal + dual.objective(run.beta, F) - 1e-9  # the best scale can only be better
    if machine == "hinge":
        y, alpha = -dual.linear_term, np.abs(run.beta)
        C = np.maximum(dual.upper, -dual.lower)
        np.testing.assert_allclose(share, alpha * (y * F - 1) + C * np.maximum(0.0, 1 - y * F), atol=1e-12)
        W, xi = -dual.objective(run.beta, F), np.maximum(0.0, 1 - y * F)
        assert share.sum() == pytest.approx(alpha.sum() - 2 * W + C @ xi)  # (7.3)


def test_the_largest_contributions_come_first():
    dual, K, run, share = contributions("hinge")
    chosen = above_mean(run)
    assert 0 < len(chosen) < len(dual) and np.all(np.diff(share[chosen]) <= 0)
    assert share[chosen].min() > share.mean() >= np.delete(share, chosen).max()


def test_contributions_of_a_hard_margin_use_the_largest_multiplier():
    dual = replace(hinge(np.array([1.0, -1.0]), np.full(2, np.inf)), n_groups=0)
    run = Run(dual, FullGram(np.eye(2)), Stopping(tol=1e-3), np.array([0.5, 0.0]), None)
    np.testing.assert_allclose(gap_contributions(run), [0.5 * (0.5 - 1.0) + 1.5 * 0.5, 1.5])  # C = max alpha + 1


def test_orders_need_different_numbers_of_steps_for_the_same_answer():
    dual, K = small_problem("squared_hinge", fixed=True)
    answers = [
        s.solve(dual, FullGram(K), Stopping(tol=1e-6))
        for s in (Coordinate(), Coordinate("greedy"), Adatron("ascending"))
    ]
    assert np.ptp([a.objective for a in answers]) <= 1e-8 * abs(answers[0].objective)
    assert answers[1].iterations < answers[0].iterations


def test_simplified_smo_in_pieces(monkeypatch):
    """Partners outside the piece are brought along: the same answer where the matrix is not held whole."""
    monkeypatch.setattr(visits, "WHOLE", 10)
    monkeypatch.setattr(visits, "CHUNK", 9)
    dual, K = small_problem("hinge")
    best, _ = solve_qp(dual, K)
    solution = Simplified().solve(dual, FullGram(K), Stopping(tol=1e-4))
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_simplified_smo_counts_violators_not_steps(seed):
    """A pass in which no random partner allows a step is no pass without a change: it goes on to the tolerance."""
    dual, K = small_problem("hinge", n=60)
    solution = Simplified(1, seed=seed).solve(dual, FullGram(K), Stopping(tol=1e-5))
    assert solution.status is Status.OPTIMAL


# ----- the perceptron
def test_the_perceptron_counts_its_mistakes():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 3))
    y = np.where(X[:, 0] + 0.3 > 0, 1.0, -1.0)
    X = np.hstack([X, np.ones((50, 1))])
    X[:, 0] += 0.4 * y
    w, alpha, mistakes = np.zeros(4), np.zeros(50), 0
    while True:  # the primal algorithm of Rosenblatt
        before = mistakes
        for i in range(50):
            if y[i] * (w @ X[i]) <= 0:
                w += y[i] * X[i]
                alpha[i] += 1
                mistakes += 1
        if mistakes == before:
            break
    from tests.oracles import without_groups

    dual = without_groups(hinge(y, np.full(50, np.inf)))
    solution = Perceptron().solve(dual, FullGram(X @ X.T), Stopping(tol=1e-6))
    assert solution.status is Status.OWN_RULE
    np.testing.assert_array_equal(y * solution.beta, alpha)
    assert solution.iterations == mistakes
    R2, margin = (X**2).sum(axis=1).max(), (y * (X @ w)).min() / np.linalg.norm(w)
    assert mistakes <= R2 / margin**2  # Novikoff: at most (R / margin)^2 for any separating hyperplane


def test_the_perceptron_gives_up_on_noise():
    dual, K = small_problem("hinge", kernel="linear", fixed=True)
    held = Perceptron(max_passes=50).solve(dual, FullGram(K), Stopping(tol=1e-6))
    assert held.status is Status.OWN_RULE and np.abs(held.beta).max() == 3.0  # C = 3 lets no multiplier grow
    dual = replace(dual, lower=np.where(dual.lower < 0, -np.inf, 0.0), upper=np.where(dual.upper > 0, np.inf, 0.0))
    solution = Perceptron(max_passes=20).solve(dual, FullGram(K), Stopping(tol=1e-6))
    assert solution.status is Status.MAX_PASSES and solution.rounds == 20


# ----- projections and quadratic programmes
@pytest.mark.parametrize("machine", ["hinge", "epsilon_insensitive", "nu_classification", "one_class"])
def test_projection_is_the_nearest_feasible_point(machine, rng):
    dual, _ = small_problem(machine, n=15)
    beta, step, rate = dual.start, rng.normal(size=len(dual)), 0.3
    found = project(dual, beta, step, rate)
    nearest = replace(
        dual, linear_term=step - beta, epsilon=rate * dual.epsilon
    )  # min 1/2 |b - (beta - step)|^2 + rate e |b|
    _, expected = solve_qp(nearest, np.eye(len(dual)))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    for a, b in zip(dual.group_starts, dual.group_starts[1:]):
        assert found[a:b].sum() == pytest.approx(dual.start[a:b].sum(), abs=1e-12)


def test_projection_into_a_band(rng):
    """The nearest point of box and band, from a generic QP: inside the band the sum does not matter."""
    dual, _ = small_problem("hinge", n=12)
    values = rng.normal(size=12) + 0.4
    for band in (0.1, 1.0, 100.0):
        found = project(dual, values, np.zeros(12), 1.0, band)
        clipped = np.clip(values, dual.lower, dual.upper)
        if abs(clipped.sum()) <= band:
            np.testing.assert_array_equal(found, clipped)
        else:
            shifted = replace(dual, start=np.full(12, np.sign(clipped.sum()) * band / 12))
            np.testing.assert_allclose(found, project(shifted, values, np.zeros(12), 1.0), atol=1e-12)
            assert abs(found.sum()) == pytest.approx(band)


def test_a_band_closes_and_every_point_of_the_run_keeps_the_sum():
    dual, K = small_problem("hinge")
    sums, objectives = [], []

    def watch(now):
        sums.append(abs(now.point()[0].sum()))
        objectives.append(now.objective)

    solution = Gradient(band=5.0, shrink=0.8).solve(dual, FullGram(K), Stopping(tol=1e-4), watch=watch)
    plain = Gradient().solve(dual, FullGram(K), Stopping(tol=1e-4))
    assert solution.status is plain.status is Status.OPTIMAL
    assert max(sums) <= 1e-12 and objectives[0] > objectives[-1]
    assert solution.objective == pytest.approx(plain.objective, rel=1e-6)
    for wrong in ({"band": -1.0}, {"band": 1.0, "shrink": 1.0}):
        with pytest.raises(ValueError, match="must be 0 .the sum is kept.|must lie between 0 and 1"):
            Gradient(**wrong)


def test_the_nearest_points_of_two_triangles():
    """(1, 0) and the middle of the edge x = -1: the margin lies halfway, |z| = 2 is its width."""
    X = np.array([[1.0, 0.0], [3.0, 1.0], [3.0, -1.0], [-1.0, 2.0], [-1.0, -2.0], [-4.0, 0.0]])
    y = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    solution = NearestPoints().solve(hinge(y, np.full(6, np.inf)), FullGram(X @ X.T), Stopping(tol=1e-9))
    np.testing.assert_allclose(solution.beta, [0.5, 0.0, 0.0, -0.25, -0.25, 0.0], atol=1e-9)  # 2 a / |z|^2
    np.testing.assert_allclose(X.T @ solution.beta, [1.0, 0.0], atol=1e-9)
    assert solution.thresholds[0] == pytest.approx(0.0, abs=1e-9)


def test_hulls_that_meet_have_no_margin():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    dual = hinge(np.array([1.0, 1.0, -1.0, -1.0]), np.full(4, np.inf))
    for solver in (NearestPoints(), Multiplicative()):
        assert solver.solve(dual, FullGram(X @ X.T), Stopping(tol=1e-6)).status is Status.UNBOUNDED


def test_a_multiplicative_step_has_the_least_entropy(rng):
    """b exp(-rate (f - r)) minimises rate f'b + sum |b| log(|b| / |b_old|) - |b| on the box and the sum."""
    dual, _ = small_problem("hinge", n=12)
    side = np.where(dual.upper > 0, 1.0, -1.0)
    old, _ = rescale(dual, 0.3 * side, rng.normal(size=12))
    exponent = rng.normal(size=12)
    new, levels = rescale(dual, old, exponent)
    assert new.sum() == pytest.approx(0.0, abs=1e-12) and np.all(new * side > 0) and np.abs(new).max() <= 3.0
    inside = np.abs(new) < 3.0
    np.testing.assert_allclose(np.log(new / old)[inside], (side * (exponent + levels[0]))[inside], atol=1e-9)


def test_machines_that_the_new_solvers_refuse():
    with pytest.raises(ValueError, match="keeps the sign of every multiplier"):
        Multiplicative().check(small_problem("epsilon_insensitive")[0])
    for machine in ("hinge", "epsilon_insensitive", "nu_classification", "one_class"):
        with pytest.raises(ValueError, match="use SVC with C=inf, or with loss='squared_hinge'"):
            NearestPoints().check(small_problem(machine)[0])


@pytest.mark.parametrize("machine", ["hinge", "squared_hinge", "epsilon_insensitive", "nu_classification", "one_class"])
def test_conjugate_gradient_solves_the_programme(machine):
    dual, K = small_problem(machine, n=30)
    run = Run(dual, FullGram(K), Stopping(tol=1e-8), None, None)
    part = working_set(run, np.arange(len(dual)))
    Q, f, beta = part.K + np.diag(dual.diagonal), part.f, part.beta
    steps = minimise(part._replace(K=Q), run, 0.0)
    best, _ = solve_qp(dual, K)
    assert 0 < steps < 50 * len(beta)
    assert 0.5 * beta @ Q @ beta + dual.linear_term @ beta + dual.epsilon @ np.abs(beta) == pytest.approx(
        best, rel=1e-8, abs=1e-9
    )
    np.testing.assert_allclose(f, Q @ beta + dual.linear_term, atol=1e-9)


def test_matrices_are_those_of_equations_8_26_and_8_27():
    y = np.array([1.0, -1.0, 1.0])
    K = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 3.0]])
    P, q, G, h, A, b = matrices(hinge(y, np.full(3, 4.0)), K)
    np.testing.assert_array_equal(P, K)
    np.testing.assert_array_equal(A, np.ones((1, 3)))  # in signed multipliers sum t lambda = 0 is sum b = 0
    assert b.tolist() == [0.0]
    for signed in ([4.0, -4.0, 4.0], [0.0, 0.0, 0.0], [1.0, -2.0, 3.0]):
        assert np.all(G @ signed <= h)
    for outside in ([4.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, -4.1, 0.0], [-0.1, 0.0, 0.0]):
        assert np.any(G @ outside > h)
    lambdas = np.array([0.3, 0.1, 0.2])
    assert q @ (y * lambdas) == pytest.approx(-lambdas.sum())
    _, _, G, h, _, _ = matrices(hinge(y, np.full(3, np.inf)), K)
    assert G.shape == (3, 3) and h.tolist() == [0.0, 0.0, 0.0]  # hard margin: only the lower bounds stay


@pytest.mark.parametrize("package", ["clarabel", "cvxopt"])
@pytest.mark.parametrize("machine", ["hinge", "epsilon_insensitive"])
def test_both_packages(package, machine):
    pytest.importorskip(package)
    dual, K = small_problem(machine)
    best, _ = solve_qp(dual, K)
    solution = QuadraticProgramme(package).solve(dual, FullGram(K), Stopping(tol=1e-6))
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(best, rel=1e-9)
    assert np.count_nonzero(solution.beta == 0.0) > 0  # support vectors were picked


def test_chunking_with_a_package_inside():
    pytest.importorskip("clarabel")
    from widemargin.solvers.reference import Chunking, Osuna

    for kernel in KERNELS:
        dual, K = small_problem("hinge", kernel)
        best, _ = solve_qp(dual, K)
        for solver in (Chunking(8, inner="clarabel"), Osuna(12, 6, inner="clarabel")):
            solution = solver.solve(dual, FullGram(K), Stopping(tol=1e-4))
            assert solution.status is Status.OPTIMAL
            assert solution.objective == pytest.approx(best, rel=1e-5)
