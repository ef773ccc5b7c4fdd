"""Going on from a machine that was stopped: the same answer as a fit nobody stopped."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from widemargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, Status, io

pytestmark = pytest.mark.needs_compiler

TOL = 1e-6
MACHINES = [
    SVC(C=5.0, tol=TOL),
    SVC(C=5.0, tol=TOL, loss="squared_hinge"),
    SVC(C=5.0, tol=TOL, multi_class="ovr"),
    NuSVC(nu=0.3, tol=TOL),
    SVR(C=5.0, tol=TOL),
    SVR(C=5.0, tol=TOL, loss="squared_epsilon_insensitive"),
    NuSVR(C=5.0, tol=TOL),
    OneClassSVM(nu=0.3, tol=TOL),
]


def data_for(machine):
    if isinstance(machine, SVR | NuSVR):
        X, y = make_regression(120, 5, noise=0.5, random_state=1)
        return X, y / y.std()
    return make_classification(150, 6, n_informative=5, n_redundant=0, n_classes=3, flip_y=0.1, random_state=1)


def values(machine, X):
    return machine.decision_function(X) if hasattr(machine, "decision_function") else machine.predict(X)


def stopped(machine, X, y):
    """The machine after a few steps."""
    machine = type(machine)(**{**machine.get_params(), "max_iter": 12})
    with pytest.warns(ConvergenceWarning, match=r"max_iter.*duality gap.*resume\(X, y\) continues from here"):
        return machine.fit(X, y)


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_resume_ends_where_fit_ends(machine):
    X, y = data_for(machine)
    whole = type(machine)(**machine.get_params()).fit(X, y)
    part = stopped(machine, X, y)
    assert part.status_ is Status.MAX_ITER
    steps_before = np.sum(part.n_iter_)
    part = pickle.loads(pickle.dumps(part))
    assert part.resume(X, y, max_iter=-1) is part
    assert part.status_ is Status.OPTIMAL and part.certificate_.holds
    np.testing.assert_allclose(values(part, X), values(whole, X), atol=200 * TOL)
    assert part.certificate_.dual == pytest.approx(whole.certificate_.dual, rel=1e-5)
    assert np.sum(part.n_iter_) >= steps_before + part.certificate_.iterations
    assert part.max_iter == 12  # a budget for one call is no new parameter


def test_steps_in_small_helpings_add_up_and_never_go_back():
    X, y = make_classification(200, 8, flip_y=0.2, random_state=0)
    machine = SVC(C=10.0, max_iter=20, tol=1e-5)
    duals = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(X, y)
        duals.append(machine.certificate_.dual)
        for _ in range(12):
            duals.append(machine.resume(X, y).certificate_.dual)
    assert np.all(np.diff(duals) >= -1e-9 * np.abs(duals[-1])) and duals[-1] > duals[0]
    whole = SVC(C=10.0, tol=1e-5).fit(X, y).certificate_.dual
    assert machine.resume(X, y, max_iter=-1).certificate_.dual == pytest.approx(whole, rel=1e-6)


def test_a_finer_tolerance_costs_only_the_difference():
    X, y = make_classification(400, 8, flip_y=0.2, random_state=0)
    coarse = SVC(C=10.0, tol=1e-1).fit(X, y)
    anew = SVC(C=10.0, tol=1e-4).fit(X, y)
    coarse.resume(X, y, tol=1e-4)
    assert coarse.certificate_.holds and coarse.certificate_.tol == 1e-4 and coarse.tol == 1e-1
    assert coarse.certificate_.iterations < anew.certificate_.iterations


def test_resume_at_the_optimum_changes_nothing():
    X, y = load_iris(return_X_y=True)
    machine = SVC(tol=1e-6).fit(X, y)
    before = machine.dual_coef_.copy()
    machine.resume(X, y)
    np.testing.assert_allclose(machine.dual_coef_, before, atol=1e-12)
    assert machine.certificate_.iterations == 0


def test_after_a_model_file_sparse_data_and_weights(tmp_path):
    X, y = make_classification(150, 10, n_informative=6, n_classes=3, random_state=3)
    X[np.abs(X) < 0.5] = 0.0
    X = sp.csr_matrix(X)
    weight = np.random.default_rng(0).integers(0, 3, 150).astype(float)
    whole = SVC(tol=TOL, C=3.0, class_weight="balanced").fit(X, y, weight)
    with pytest.warns(ConvergenceWarning):
        part = SVC(tol=TOL, C=3.0, class_weight="balanced", max_iter=5).fit(X, y, weight)
    path = tmp_path / "part.model"
    io.save(part, path)
    loaded = io.load(path)
    loaded.resume(X, y, weight, max_iter=-1)
    np.testing.assert_allclose(loaded.decision_function(X), whole.decision_function(X), atol=200 * TOL)


def test_probabilities_are_fitted_again():
    X, y = make_classification(150, 6, flip_y=0.1, random_state=1)
    with pytest.warns(ConvergenceWarning):
        machine = SVC(C=3.0, probability=True, random_state=0, max_iter=8, tol=TOL).fit(X, y)
    machine.resume(X, y, max_iter=-1)
    whole = SVC(C=3.0, probability=True, random_state=0, tol=TOL).fit(X, y)
    np.testing.assert_allclose(machine.predict_proba(X), whole.predict_proba(X), atol=0.02)


def test_other_data_get_a_sentence():
    X, y = load_iris(return_X_y=True)
    machine = SVC().fit(X, y)
    with pytest.raises(ValueError, match="fitted on 150: resume needs the same training data"):
        machine.resume(X[:100], y[:100])
    with pytest.raises(ValueError, match="not the samples of X at support_"):
        machine.resume(X + 1.0, y)
    with pytest.raises(ValueError, match="other classes"):
        machine.resume(X, y + 1)
    assert machine.classes_.tolist() == [0, 1, 2] and machine.resume(X, y).certificate_.holds  # nothing was broken
    with pytest.raises(NotFittedError):
        SVC().resume(X, y)
