"""The factor and what is solved with it, against NumPy, at sizes on both sides of the block boundaries."""

import numpy as np
import pytest

from widemargin.linalg.cholesky import (
    PANEL,
    NotPositiveDefinite,
    factor_in_place,
    inverse,
    log_determinant,
    solve_factored,
    solve_lower,
)

SIZES = [1, 2, PANEL - 1, PANEL, PANEL + 1, 3 * PANEL + 7]


def positive_definite(rng, n):
    B = rng.normal(size=(n, n))
    return B @ B.T / n + np.eye(n)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("n_threads", [1, 3])
def test_everything_that_is_solved_is_numpys(rng, n, n_threads):
    A = positive_definite(rng, n)
    L = factor_in_place(A.copy(), n_threads)
    np.testing.assert_allclose(np.tril(L), np.linalg.cholesky(A), rtol=1e-10, atol=1e-12)
    B = rng.normal(size=(n, 5))
    kept = B.copy()
    np.testing.assert_allclose(solve_factored(L, B, n_threads), np.linalg.solve(A, B), rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(B, kept)
    np.testing.assert_allclose(np.tril(L) @ solve_lower(L, B.copy(), n_threads), B, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(inverse(L, n_threads), np.linalg.inv(A), rtol=1e-8, atol=1e-11)
    assert log_determinant(L) == pytest.approx(np.linalg.slogdet(A)[1], rel=1e-12, abs=1e-12)


def test_many_right_hand_sides_in_several_tasks(rng):
    A = positive_definite(rng, 300)
    B = rng.normal(size=(300, 600))
    np.testing.assert_allclose(
        solve_factored(factor_in_place(A.copy(), 2), B, 2), np.linalg.solve(A, B), rtol=1e-9, atol=1e-11
    )


def test_the_number_of_threads_changes_no_bit(rng):
    A = positive_definite(rng, 700)
    one, three = factor_in_place(A.copy(), 1), factor_in_place(A.copy(), 3)
    np.testing.assert_array_equal(one, three)


@pytest.mark.parametrize("place", [0, PANEL + 3])
def test_an_indefinite_matrix_is_refused_with_its_place(rng, place):
    A = np.eye(2 * PANEL)
    A[place, place] = -1.0
    with pytest.raises(NotPositiveDefinite, match=f"leading minor {place + 1} of"):
        factor_in_place(A, 2)


def test_nan_is_refused():
    A = np.eye(10)
    A[4, 4] = np.nan
    with pytest.raises(NotPositiveDefinite):
        factor_in_place(A, 1)


@pytest.mark.parametrize("n", SIZES)
def test_in_single_precision(rng, n):
    A = positive_definite(rng, n).astype(np.float32)
    L = factor_in_place(A.copy(), 2)
    assert L.dtype == np.float32
    np.testing.assert_allclose(np.tril(L), np.linalg.cholesky(A.astype(np.float64)), rtol=1e-3, atol=1e-5)
