"""The primal at the best scaling against SciPy's minimiser and against the losses written from their definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from tests.oracles import KERNELS, MACHINES, WITHOUT_BIAS, noisy_scores, primal_at, signs, without_groups
from widemargin.problems import hinge
from widemargin.problems.primal import best_primal

seeds = st.integers(0, 2**32 - 1)


def point(seed, machine, kernel="rbf", n=30):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    K = KERNELS[kernel][1](X, X)
    dual = MACHINES[machine](noisy_scores(X, rng), rng.choice([0.0, 0.5, 2.0], n, p=[0.1, 0.4, 0.5]))
    beta = np.clip(rng.normal(size=len(dual)), np.maximum(dual.lower, -3), np.minimum(dual.upper, 3))
    return rng, K, dual, beta


@pytest.mark.parametrize(
    "size",
    [
        0.02,
        0.3,
        3.0,
        30.0,
    ],
)
@given(seeds, st.sampled_from(sorted(MACHINES)), st.sampled_from(["linear", "rbf"]), st.booleans())
def test_best_scaling_is_the_minimum_over_all_scalings(size, seed, machine, kernel, with_groups):
    """Multipliers far too small or far too large: the certificate must find the scale that makes up for it."""
    rng, K, dual, beta = point(seed, machine, kernel)
    beta = size * beta
    if machine in WITHOUT_BIAS and not with_groups:
        dual = without_groups(dual)
    level = rng.normal(size=dual.n_groups)
    b = dual.per_sample(beta)
    function, norm2 = K @ b, float(b @ K @ b)
    value, scale = best_primal(dual, dual.per_variable(function), norm2, level)
    assert scale >= 0
    assert value == pytest.approx(primal_at(dual, function, norm2, level, scale), rel=1e-10, abs=1e-10)
    assert value <= primal_at(dual, function, norm2, level, 1.0) + 1e-10 * abs(value)
    reference = minimize_scalar(
        lambda s: primal_at(dual, function, norm2, level, s),
        bounds=(0.0, 1e4),
        method="bounded",
        options={"xatol": 1e-9},
    )
    assert value <= reference.fun + 1e-7 * max(1.0, abs(reference.fun))


def test_by_hand_for_one_sample_per_class():
    # K = I, b = (t, -t): F = (t, -t), hinge losses C (1 - s t)_+ each, so 1/2 s^2 2 t^2 + 2 C (1 - s t)_+
    y, C = np.array([1.0, -1.0]), np.array([10.0, 10.0])
    for t in (0.1, 1.0, 7.0):
        value, scale = best_primal(hinge(y, C), t * y, 2 * t * t, np.zeros(1))
        assert scale * t == pytest.approx(1.0) and value == pytest.approx(1.0)
    value, scale = best_primal(hinge(y, np.array([0.2, 0.2])), y, 2.0, np.zeros(1))
    assert scale == pytest.approx(0.2) and value == pytest.approx(0.04 + 0.4 * 0.8)


def test_zero_function_costs_all_losses():
    y = np.array([1.0, -1.0, 1.0])
    value, _ = best_primal(hinge(y, np.array([1.0, 2.0, 4.0])), np.zeros(3), 0.0, np.zeros(1))
    assert value == 7.0


def test_hard_margin_scales_the_level_too_and_is_infinite_when_a_point_is_on_the_wrong_side(rng):
    X = np.array([[1.0], [3.0], [5.0], [9.0]])
    y = np.array([-1.0, -1.0, 1.0, 1.0])
    dual = hinge(y, np.full(4, np.inf))
    for size in (0.2, 1.0, 30.0):  # (w, r) = size (1, 4): best scaling makes the two inner points meet the margin
        value, scale = best_primal(dual, size * X[:, 0], size**2, np.array([4.0 * size]))
        assert scale * size == pytest.approx(1.0) and value == pytest.approx(0.5)
    assert best_primal(dual, X[:, 0], 1.0, np.array([6.0]))[0] == np.inf
    assert best_primal(dual, np.zeros(4), 0.0, np.zeros(1))[0] == np.inf


def test_mixed_hard_and_soft_samples():
    # Sample 2 must be right, sample 3 may be wrong at a price of one; F = x, level 0.
    y, C = np.array([1.0, -1.0, -1.0]), np.array([np.inf, np.inf, 1.0])
    function = np.array([1.0, -2.0, 1.0])
    value, scale = best_primal(hinge(y, C), function, 1.0, np.zeros(1))
    assert scale == pytest.approx(1.0)  # at least 1 by the first sample; more only costs
    assert value == pytest.approx(0.5 + 2.0)


def test_signs_of_the_labels_do_not_matter(rng):
    t = rng.normal(size=20)
    y = signs(t)
    C = rng.uniform(0.5, 2, 20)
    one = best_primal(hinge(y, C), t, float(t @ t), np.array([0.3]))
    other = best_primal(hinge(-y, C), -t, float(t @ t), np.array([-0.3]))
    assert one == pytest.approx(other)
