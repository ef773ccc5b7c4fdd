"""What leaves predict and its kin: labels that agree with the decision values, and no NaN without a warning."""

import numpy as np
import pytest

from widemargin import SVC, SVR, OneClassSVM
from widemargin.models.single_precision import WORTH_SINGLE

N_ROWS = 2 * WORTH_SINGLE


def noisy(rng, n_classes, n=None):
    """Labels so noisy that most samples become support vectors."""
    n = n or 2 * WORTH_SINGLE
    X = rng.normal(size=(n, 6))
    y = np.where(
        rng.random(n) < 0.5, rng.integers(n_classes, size=n), np.digitize(X[:, 0], np.arange(1, n_classes) - 1.0)
    )
    return X, y


@pytest.mark.parametrize(
    ("n_classes", "parameters"),
    [
        (2, {}),
        (2, {"C": 100.0}),
        (4, {}),
        (4, {"multi_class": "ovr"}),
        (4, {"break_ties": True}),
        (4, {"kernel": "poly", "degree": 2}),
    ],
)
def test_labels_are_those_of_the_decision_values(n_classes, parameters, rng):
    X, y = noisy(rng, n_classes)
    model = SVC(tol=1e-2, **parameters).fit(X, y)
    assert len(model.support_) >= WORTH_SINGLE
    new = rng.normal(size=(N_ROWS, 6))
    values = model._decision_values(new)
    found = model.predict(new)
    np.testing.assert_array_equal(found, model.classes_[model._class_numbers(values)])
    parts = [model.predict(new[start : start + 100]) for start in range(0, N_ROWS, 100)]
    np.testing.assert_array_equal(found, np.concatenate(parts))
    np.testing.assert_array_equal(found[:20], np.concatenate([model.predict(row[None]) for row in new[:20]]))


def test_values_that_overflow_are_told(rng):
    X = rng.normal(size=(60, 3))
    huge = np.vstack([X[:2], [[1e160, -1e160, 1e160]], X[2:3]])
    model = SVC(kernel="poly", degree=3, coef0=1.0).fit(X, X[:, 0] > 0)
    for method in (model.predict, model.decision_function):
        with pytest.warns(UserWarning, match=r"infinite or NaN for 1 of the samples \(rows 2\)"):
            values = method(huge)
        np.testing.assert_array_equal(values[[0, 1, 3]], method(X[:3]))
    for other in (SVR(kernel="poly").fit(X, X[:, 0]), OneClassSVM(kernel="poly", nu=0.5).fit(np.abs(X))):
        with pytest.warns(UserWarning, match=r"rows 2\)"):
            other.predict(huge)
    with pytest.warns(UserWarning, match=r"20 of the samples \(rows 0, 1, 2, 3, 4, \.\.\.\)"):
        model.predict(1e160 * np.ones((20, 3)))
