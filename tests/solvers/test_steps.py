"""Pair steps and single steps on problems small enough to solve by hand."""

import numpy as np
import pytest

from widemargin.problems.dual import Terms
from widemargin.solvers.steps.block import block_of
from widemargin.solvers.steps.packed_keys import keys_of
from widemargin.solvers.steps.pairs import CLOSED_64, best_partner, lowest_after_step, open_directions, solve_pairs
from widemargin.solvers.steps.singles import best_after_step, solve_singles

DTYPES = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def block(K, c, beta, lower, upper, dtype, epsilon=None, diagonal=None, starts=None):
    """A block with the gradient worked out here."""
    K, beta, n = np.asarray(K, float), np.array(beta, float), len(c)
    epsilon = np.zeros(n) if epsilon is None else np.asarray(epsilon, float)
    diagonal = np.zeros(n) if diagonal is None else np.asarray(diagonal, float)
    starts = np.array([0, n] if starts is None else starts, np.int64)
    box = (np.asarray(lower, float), np.asarray(upper, float))
    terms = Terms(np.asarray(c, float), *box, diagonal, epsilon, beta, starts, len(starts) - 1)
    f = K @ beta + diagonal * beta + np.asarray(c, float)
    return block_of(K, f, np.diag(K), beta, terms, dtype)


def pairs(problem, tol=1e-6, max_steps=1000):
    return solve_pairs(problem, tol, max_steps)


def singles(problem, tol=1e-6, max_steps=1000):
    return solve_singles(problem, tol, max_steps)


@DTYPES
def test_one_free_step_is_newtons(dtype):
    # b = (s, -s), objective s^2 (K_ii + K_jj - 2 K_ij) / 2 - 2 s: s = 2 / (2 + 3 - 2 * 0.5) = 0.5
    problem = block([[2, 0.5], [0.5, 3]], [-1, 1], [0, 0], [0, -10], [10, 0], dtype)
    steps, violation, curvature = pairs(problem)
    assert steps == 1 and curvature == 0.0
    np.testing.assert_array_equal(problem.beta, [0.5, -0.5])
    assert violation <= 1e-6
    np.testing.assert_allclose(problem.f, [-1 + 0.75, 1 - 1.25], rtol=1e-6)


@DTYPES
@pytest.mark.parametrize(
    ("upper", "lower", "expected"),
    [(0.3, -10.0, (0.3, -0.3)), (10.0, -0.1, (0.1, -0.1)), (0.2, -0.2, (0.2, -0.2))],
    ids=["first", "second", "both"],
)
def test_bounds_are_assigned_exactly(dtype, upper, lower, expected):
    problem = block([[2, 0.5], [0.5, 3]], [-1, 1], [0, 0], [0, lower], [upper, 0], dtype)
    pairs(problem)
    assert tuple(problem.beta) == expected


def test_bound_reached_by_a_sum_that_rounds(rng):
    """Coming from a start that adds up badly, the bound is still hit to the last bit."""
    for _ in range(200):
        upper = rng.uniform(0.1, 1.0)
        start = rng.uniform(0, upper) / 3
        problem = block(np.eye(2) * 1e-6, [-1, 1], [start, -start], [0, -upper], [upper, 0], np.float64)
        pairs(problem)
        assert problem.beta[0] == upper and problem.beta[1] == -upper


@DTYPES
def test_the_kink_stops_a_variable_on_its_way_through_zero(dtype):
    # b_0 must rise from -1 with a long step; at zero the slope jumps by 2 * kink and the pair is optimal there.
    problem = block(np.eye(2), [-5, 5], [-1, 1], [-9, -9], [9, 9], dtype, epsilon=[100, 0])
    pairs(problem)
    assert problem.beta[0] == 0.0
    np.testing.assert_allclose(problem.beta.sum(), 0.0, atol=1e-12)


@DTYPES
def test_the_kink_is_crossed_when_it_pays(dtype):
    # From (-1, 1): smooth optimum s* of (b, -b): 2b + 2 c_0 = 0 without kink -> 5; with kink 1 on b_0: 2b - 10 + 1 = 0.
    problem = block(np.eye(2), [-5, 5], [-1, 1], [-9, -9], [9, 9], dtype, epsilon=[1, 0])
    steps, _, _ = pairs(problem)
    np.testing.assert_allclose(problem.beta, [4.5, -4.5], rtol=1e-6)
    assert steps == 2  # one step to zero, one beyond


@DTYPES
def test_ridge_enters_curvature_and_gradient(dtype):
    problem = block(np.zeros((2, 2)), [-1, 1], [0, 0], [0, -np.inf], [np.inf, 0], dtype, diagonal=[0.5, 0.5])
    steps, violation, _ = pairs(problem)
    np.testing.assert_allclose(problem.beta, [2.0, -2.0], rtol=1e-6)
    assert steps == 1 and violation <= 1e-6


@DTYPES
def test_groups_do_not_exchange(dtype):
    # Two groups of two; each is optimal only after its own step; sums of each group stay.
    c = [-1, 1, -3, 3]
    problem = block(np.eye(4), c, [0, 0, 0, 0], [-9] * 4, [9] * 4, dtype, starts=[0, 2, 4])
    pairs(problem)
    np.testing.assert_allclose(problem.beta, [1, -1, 3, -3], rtol=1e-5)


@DTYPES
def test_groups_of_one_or_none_never_move(dtype):
    problem = block(np.eye(3), [-1, 5, 1], [0, 0, 0], [-9] * 3, [9] * 3, dtype, starts=[0, 1, 2, 2, 3])
    steps, _, _ = pairs(problem)
    assert steps == 0
    np.testing.assert_array_equal(problem.beta, [0, 0, 0])


def test_duplicate_points_go_to_the_bound_in_one_step():
    problem = block(np.ones((2, 2)), [-1, 1], [0, 0], [0, -7], [7, 0], np.float64)
    steps, _, curvature = pairs(problem)
    np.testing.assert_array_equal(problem.beta, [7, -7])
    assert steps == 1 and curvature == 0.0


def test_negative_curvature_is_reported():
    problem = block([[1, 2], [2, 1]], [-1, 1], [0, 0], [0, -7], [7, 0], np.float64)
    _, _, curvature = pairs(problem)
    assert curvature == -2.0
    np.testing.assert_array_equal(problem.beta, [7, -7])


@DTYPES
def test_never_more_steps_than_allowed(dtype, rng):
    X = rng.normal(size=(30, 3))
    y = np.where(rng.random(30) > 0.5, 1.0, -1.0)
    for allowed in (0, 1, 7):
        problem = block(X @ X.T, -y, np.zeros(30), np.minimum(9 * y, 0), np.maximum(9 * y, 0), dtype)
        assert pairs(problem, tol=1e-9, max_steps=allowed)[0] == allowed
        problem = block(X @ X.T, -y, np.zeros(30), np.minimum(9 * y, 0), np.maximum(9 * y, 0), dtype)
        assert singles(problem, tol=1e-9, max_steps=allowed)[0] == allowed


@DTYPES
def test_all_directions_closed_ends_at_once(dtype):
    problem = block(np.eye(3), [-1, 0, 1], [2, 2, 2], [2, 2, 2], [2, 2, 2], dtype)
    assert pairs(problem)[0] == 0
    assert singles(problem)[0] == 0


@pytest.mark.parametrize(
    ("b", "lower", "upper", "epsilon", "up", "down"),
    [
        (0.0, 0.0, 1.0, 0.0, 0.0, -CLOSED_64),
        (1.0, 0.0, 1.0, 0.0, CLOSED_64, 0.0),
        (0.0, -1.0, 1.0, 0.2, 0.2, -0.2),
        (0.5, -1.0, 1.0, 0.2, 0.2, 0.2),
        (-0.5, -1.0, 1.0, 0.2, -0.2, -0.2),
        (0.0, 0.0, 0.0, 0.0, CLOSED_64, -CLOSED_64),
    ],
)
def test_open_directions(b, lower, upper, epsilon, up, down):
    from_python = getattr(open_directions, "py_func", open_directions)
    assert from_python(b, lower, upper, epsilon, CLOSED_64) == (up, down)


@DTYPES
def test_single_steps_solve_a_diagonal_problem_in_one_step_each(dtype):
    problem = block(np.diag([1.0, 2.0, 4.0]), [-1, -1, 4], [0, 0, 0], [0, 0, -9], [9, 0.25, 9], dtype)
    steps, worst = singles(problem)
    np.testing.assert_array_equal(problem.beta, [1.0, 0.25, -1.0])
    assert steps == 3 and worst <= 1e-6


@DTYPES
def test_single_steps_stop_at_and_cross_the_kink(dtype):
    problem = block(np.eye(2), [-5, -5], [-1, -1], [-9, -9], [9, 9], dtype, epsilon=[1, 100])
    singles(problem)
    np.testing.assert_allclose(problem.beta, [4.0, 0.0], rtol=1e-6)
    assert problem.beta[1] == 0.0


@pytest.mark.needs_compiler
def test_scans_of_a_block_stay_in_the_width_of_its_numbers():
    """One expression that Numba widens to 64 bits halves the numbers per vector of a whole loop, and nobody sees it."""
    from numba import typeof, types

    vector, matrix = types.float32[::1], types.float32[:, ::1]
    one, key, at = types.float32, types.int32, types.int64
    pair = types.UniTuple(at, 2)
    keys = typeof(keys_of(8, np.dtype(np.float32)))

    def returned(function, *given):
        function.compile(given)
        return function.overloads[given].signature.return_type

    found = returned(best_partner, vector, vector, one, types.Tuple((matrix, vector, one)), at, pair, keys)
    assert found == types.Tuple((key, one))
    assert returned(lowest_after_step, vector, vector, one, matrix, pair, pair, keys) == key
    found = returned(best_after_step, vector, vector, vector, one, vector, vector, one, keys)
    assert found == types.Tuple((key, one))
