"""Planes through feature space: projecting and lifting belong together, and wrong choices get a sentence."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from widemargin.plots.plane import choose_plane


@given(st.integers(2, 6), st.integers(3, 20), st.integers(0, 99), st.sampled_from(["pair", "pca"]))
def test_what_is_lifted_projects_back(n_features, n_samples, seed, kind):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features)) * 10.0 ** rng.integers(-3, 4, n_features)
    plane = choose_plane(X, "pca" if kind == "pca" else (0, n_features - 1))
    points = rng.normal(size=(5, 2))
    np.testing.assert_allclose(plane.project(plane.lift(points)), points, rtol=1e-7, atol=1e-7)


def test_a_pair_is_the_two_columns_and_the_rest_stays_at_the_medians():
    X = np.array([[0.0, 1.0, 5.0, -1.0], [2.0, 3.0, 7.0, 0.0], [4.0, 9.0, 6.0, 8.0]])
    plane = choose_plane(X, (3, -3))
    np.testing.assert_array_equal(plane.project(X), X[:, [3, 1]])
    np.testing.assert_array_equal(plane.lift(np.array([[1.5, 2.5]])), [[2.0, 2.5, 6.0, 1.5]])
    assert plane.names == ("feature 4", "feature 2")
    assert plane.note == "section: 2 other features at the medians"
    moved = choose_plane(X, (0, 1), at=[9.0, 9.0, -4.0, -5.0])
    np.testing.assert_array_equal(moved.lift(np.zeros((1, 2))), [[0.0, 0.0, -4.0, -5.0]])


def test_principal_components_follow_correlation_and_not_units():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(200, 1))
    X = np.hstack([hidden + 0.1 * rng.normal(size=(200, 1)), hidden, 1e6 * rng.normal(size=(200, 1))])
    plane = choose_plane(X, "pca")
    first = np.abs(plane.directions[0] / X.std(axis=0))
    assert first[:2].min() > 0.6 and first[2] < 0.2  # the large unit does not count
    np.testing.assert_allclose(plane.project(X).mean(axis=0), 0.0, atol=1e-9)
    assert "of variance" in plane.names[0]


def test_sparse_data_two_features_and_a_constant_feature():
    X = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 3.0]])
    plane = choose_plane(sp.csr_matrix(X))
    assert plane.whole and plane.note == ""
    np.testing.assert_array_equal(plane.project(X), X)
    constant = np.column_stack([X, np.full(3, 7.0)])
    lifted = choose_plane(constant, "pca").lift(np.random.default_rng(0).normal(size=(4, 2)))
    np.testing.assert_allclose(lifted[:, 2], 7.0)


@pytest.mark.parametrize(
    ("features", "at", "sentence"),
    [
        (None, None, r"X has 3. Choose features=\(i, j\)"),
        ((0, 0), None, "two different columns; got 'feature 1' twice"),
        ((0, 3), None, "no feature number 3: it has 3"),
        (("a", 0), None, "no feature 'a'; its features are feature 1"),
        ("kernel", None, "must be a pair of columns or 'pca'"),
        ((0,), None, "must be a pair"),
        ((0, 1), [1.0], "one value for each of the 3 features"),
    ],
)
def test_wrong_choices(features, at, sentence):
    with pytest.raises(ValueError, match=sentence):
        choose_plane(np.eye(3), features, at)


@pytest.mark.parametrize(
    ("X", "sentence"),
    [([["red", 1]], "features that are numbers"), (np.empty((0, 2)), "with samples in it"), ([1.0, 2.0], "shape")],
)
def test_data_that_cannot_be_drawn(X, sentence):
    with pytest.raises(ValueError, match=sentence):
        choose_plane(X)


def test_data_too_large_for_a_picture():
    with pytest.raises(ValueError, match="too large for a picture"):
        choose_plane(sp.csr_matrix((20_000, 62_061)))
