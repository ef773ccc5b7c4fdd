"""A weight is a repetition, zero a removal; class weights multiply; order does not matter: over random problems."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.linear.machines import CLASSIFIERS, INTERCEPTS, LOSSES, estimator, samples
from widemargin import LinearSVC


@given(
    loss=st.sampled_from(LOSSES),
    intercept=st.sampled_from(sorted(INTERCEPTS)),
    seed=st.integers(0, 10_000),
    C=st.sampled_from([0.01, 1.0, 50.0]),
    sparse=st.booleans(),
)
def test_integer_weights_equal_repetition_and_zero_equals_removal(loss, intercept, seed, C, sparse):
    X, y = samples(loss, n=25, d=4, seed=seed, sparse=sparse)
    weight = np.random.default_rng(seed).integers(0, 4, size=25)
    weight[:2] = 1  # both classes take part
    repeated = np.repeat(np.arange(25), weight)
    make = lambda: estimator(loss, C=C, **INTERCEPTS[intercept])  # noqa: E731
    weighted = make().fit(X, y, sample_weight=weight)
    given_twice = make().fit(X[repeated], y[repeated])
    assert weighted.certificate_.primal == pytest.approx(given_twice.certificate_.primal, rel=1e-9)
    np.testing.assert_allclose(weighted.coef_, given_twice.coef_, rtol=1e-6, atol=1e-7)


@given(loss=st.sampled_from(CLASSIFIERS), seed=st.integers(0, 10_000), free=st.booleans())
def test_class_weights_are_sample_weights_and_balanced_counts_weights(loss, seed, free):
    X, y = samples(loss, n=30, d=3, seed=seed)
    own = np.where(y == 1, 3.0, 0.5)
    kind = {"loss": loss, "penalize_intercept": not free}
    by_class = LinearSVC(class_weight={0: 0.5, 1: 3.0}, **kind).fit(X, y)
    np.testing.assert_allclose(
        by_class.coef_, LinearSVC(**kind).fit(X, y, sample_weight=own).coef_, rtol=1e-7, atol=1e-9
    )
    weight = np.random.default_rng(seed).integers(1, 4, size=30)
    repeated = np.repeat(np.arange(30), weight)
    balanced = LinearSVC(class_weight="balanced", **kind).fit(X, y, sample_weight=weight)
    expected = LinearSVC(class_weight="balanced", **kind).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(balanced.class_weight_, expected.class_weight_, rtol=1e-12)
    np.testing.assert_allclose(balanced.coef_, expected.coef_, rtol=1e-6, atol=1e-7)


@given(loss=st.sampled_from(LOSSES), seed=st.integers(0, 10_000))
def test_an_unpenalised_intercept_takes_up_a_shift_of_the_features(loss, seed):
    X, y = samples(loss, n=30, d=3, seed=seed)
    offset = np.array([5.0, -3.0, 1.0])
    here = estimator(loss, penalize_intercept=False).fit(X, y)
    there = estimator(loss, penalize_intercept=False).fit(X + offset, y)
    np.testing.assert_allclose(np.ravel(there.coef_), np.ravel(here.coef_), rtol=1e-5, atol=1e-6)
    moved = np.ravel(here.intercept_)[0] - np.ravel(here.coef_) @ offset
    # an interval of intercepts can be optimal: the objective decides, the value only where it is unique
    assert there.certificate_.primal == pytest.approx(here.certificate_.primal, rel=1e-8)
    if here.certificate_.n_free > 3:
        assert np.ravel(there.intercept_)[0] == pytest.approx(moved, abs=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_order_of_the_samples_does_not_matter(loss, rng):
    X, y = samples(loss, n=400, d=80)  # large enough for the ordinary tolerance
    order = rng.permutation(400)
    tight = {"tol": 1e-11, "C": 0.1}
    one, other = estimator(loss, **tight).fit(X, y), estimator(loss, **tight).fit(X[order], y[order])
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-5, atol=1e-6)
