"""skops loads fitted estimators: it rebuilds each object by the call that __reduce__ gives, or by __new__ and state."""

import warnings

import numpy as np
import pytest

import widemargin
from widemargin import Status
from widemargin.estimators.registry import ESTIMATORS
from widemargin.kernels import Gaussian


def rebuilt(value):
    """A copy made as skops makes it; of plain data the same."""
    if isinstance(value, dict):
        return {key: rebuilt(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        made = [rebuilt(item) for item in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    if not type(value).__module__.startswith("widemargin."):
        return value
    make, arguments, *state = value.__reduce__()
    if make is type(value) and not any(state):
        return make(*rebuilt(arguments))
    made = type(value).__new__(type(value))
    state = rebuilt(value.__getstate__())
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
    else:
        vars(made).update(state or {})
    return made


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_is_rebuilt(name):
    X = np.random.default_rng(0).normal(size=(30, 2))
    kernel = {"kernel": 1.0 * Gaussian(1.0)} if name == "GaussianProcessRegressor" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = getattr(widemargin, name)(**kernel).fit(X, np.where(X[:, 0] > 0, 1, -1))
    copy = rebuilt(model)
    assert copy is not model
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    if hasattr(model, "status_"):
        assert copy.status_ is model.status_


@pytest.mark.parametrize("status", Status)
def test_a_status_is_rebuilt_as_itself(status):
    assert rebuilt(status) is status
