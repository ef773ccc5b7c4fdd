"""Pickles written by earlier versions load and predict as they did.

golden/fitted-0.1.0.pickle holds one fitted estimator of each kind, pickled before modules were moved, and its
predictions at that time.
"""

import copy
import importlib
import pickle
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest

import widemargin
from widemargin._moved import MOVED, PREFIX

GOLDEN = pickle.loads((Path(__file__).parent / "golden" / "fitted-0.1.0.pickle").read_bytes())
STRINGS = ["banana", "ananas", "cherry", "merry"]


@pytest.mark.parametrize("name", GOLDEN["models"])
def test_estimators_pickled_by_an_earlier_version_load(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn may be another version
        model = pickle.loads(GOLDEN["models"][name])
    assert type(model) is getattr(widemargin, name.split()[0])
    given = STRINGS if name == "SVC of strings" else GOLDEN["X"]
    predicted, expected = model.predict(given), GOLDEN["expected"][name]
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(predicted, expected, rtol=1e-6, atol=1e-9)
    else:
        np.testing.assert_array_equal(predicted, expected)
    if hasattr(model, "certificate_"):
        assert str(model.certificate_)


@pytest.mark.parametrize("old", MOVED)
def test_an_old_module_name_is_the_new_module(old):
    new = importlib.import_module(PREFIX + MOVED[old])
    assert importlib.import_module(PREFIX + old) is new
    assert new.__name__ == new.__spec__.name == PREFIX + MOVED[old]


@pytest.mark.parametrize("name", [n for n in widemargin.__all__ if hasattr(getattr(widemargin, n), "fit")])
def test_joblib_dumps_are_as_small_as_pickles(name, tmp_path):
    """joblib writes an array as often as it is met, pickle once."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 40)), rng.integers(0, 2, 120)
    parameters = {"noise_variance": 0.1} if name == "GaussianProcessRegressor" else {}
    model = getattr(widemargin, name)(**parameters).fit(X, y)
    joblib.dump(model, tmp_path / "model")
    assert (tmp_path / "model").stat().st_size <= 1.03 * len(pickle.dumps(model)) + 1000
    for again in (joblib.load(tmp_path / "model"), pickle.loads(pickle.dumps(model)), copy.copy(model)):
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
