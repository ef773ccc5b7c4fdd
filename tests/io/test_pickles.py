"""Pickles written by earlier versions load and predict as they did.

golden/fitted-0.1.0.pickle holds one fitted estimator of each kind, pickled before modules were moved, and its
predictions at that time.
"""

import importlib
import pickle
import warnings
from pathlib import Path

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
