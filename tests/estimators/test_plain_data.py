"""Data that skip general validation are treated as those that do not."""

import numpy as np
import pytest
from scipy import sparse

from widemargin import SVC
from widemargin.estimators.plain_data import are_plain_labels, is_plain_matrix, is_plain_sparse


@pytest.fixture
def machine(rng):
    X = np.where(rng.random((60, 8)) < 0.7, 0.0, rng.normal(size=(60, 8)))
    return SVC().fit(X, X[:, 0] + X[:, 1] > 0), X


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array, sparse.coo_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_sparse_rows_are_predicted_as_dense_ones(machine, kind, dtype):
    model, X = machine
    values = (10 * X).astype(dtype)
    np.testing.assert_allclose(model.decision_function(kind(values)), model.decision_function(values), atol=1e-5)


def test_repeated_and_unsorted_entries_are_added_up(machine):
    model, X = machine
    twice = sparse.csr_array((np.array([1.0, 0.5, 0.5]), np.array([3, 1, 3]), np.array([0, 3])), shape=(1, 8))
    np.testing.assert_allclose(model.decision_function(twice), model.decision_function(twice.toarray()), atol=1e-12)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_numbers_that_are_none_are_refused(machine, wrong):
    model, X = machine
    X = X.copy()
    X[5, 2] = wrong
    for data in (X, sparse.csr_array(X)):
        assert not is_plain_matrix(data)
        assert not is_plain_sparse(data)
        with pytest.raises(ValueError, match="NaN|infinity"):
            model.predict(data)


def test_another_width_is_refused(machine):
    model, X = machine
    for data in (X[:, :5], sparse.csr_array(X[:, :5])):
        with pytest.raises(ValueError, match="5 features.*8 features"):
            model.predict(data)


def test_what_is_not_plain():
    assert not is_plain_sparse(sparse.csr_array((0, 3)))
    assert not is_plain_sparse(sparse.csr_array(np.eye(3, dtype=complex)))
    assert not is_plain_sparse(np.eye(3))
    assert is_plain_sparse(sparse.csr_matrix(np.eye(3)))


def test_whole_numbers_are_labels_also_as_floats():
    assert are_plain_labels(np.array([1.0, -1.0]), 2)
    assert not are_plain_labels(np.array([1.0, -1.0]), 3)
    for odd in (0.5, np.nan, np.inf):
        assert not are_plain_labels(np.array([1.0, odd]), 2)
