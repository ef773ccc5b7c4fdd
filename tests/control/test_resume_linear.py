"""resume of linear models: a fit that was stopped and resumed ends where an uninterrupted one does."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import ConvergenceWarning

from widemargin import LinearSVC, LinearSVR
from widemargin.io import load, save

pytestmark = pytest.mark.needs_compiler

TOL = 1e-7
MACHINES = [
    LinearSVC(C=3.0, tol=TOL),
    LinearSVC(C=3.0, tol=TOL, loss="hinge"),
    LinearSVC(C=3.0, tol=TOL, loss="hinge", penalize_intercept=False),
    LinearSVC(C=0.05, tol=TOL, penalty="l1"),
    LinearSVC(C=0.01, tol=1e-3, multi_class="crammer_singer", max_iter=20_000),
    LinearSVR(C=1.0, tol=TOL, epsilon=0.1),
    LinearSVR(C=1.0, tol=TOL, epsilon=0.5, loss="squared_epsilon_insensitive", fit_intercept=False),
]


def data_for(machine):
    if isinstance(machine, LinearSVR):
        X, y = make_regression(1500, 20, noise=5.0, random_state=1)
        return X, y / y.std()
    return make_classification(1500, 20, n_informative=8, n_classes=3, flip_y=0.1, random_state=1)


def stopped(machine, X, y, passes=1):
    machine = type(machine)(**{**machine.get_params(), "max_iter": passes})
    with pytest.warns(ConvergenceWarning, match=r"max_iter.*resume\(X, y\) continues from here"):
        return machine.fit(X, y)


def same_model(one, two, X):
    rows = [m.decision_function(X) if hasattr(m, "decision_function") else m.predict(X) for m in (one, two)]
    return np.abs(rows[0] - rows[1]).max() <= 0.1 * np.abs(rows[1]).max()


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_resume_ends_where_fit_ends(machine, tmp_path):
    X, y = data_for(machine)
    whole = type(machine)(**machine.get_params()).fit(X, y)
    early = stopped(machine, X, y)
    assert early.certificate_.gap > machine.tol
    save(early, tmp_path / "early.model")
    for part in (early, pickle.loads(pickle.dumps(early)), load(tmp_path / "early.model")):
        assert part.resume(X, y, max_iter=20_000) is part
        assert part.certificate_.holds and part.n_iter_ > 1 and not hasattr(part, "_multipliers")
        assert part.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=2 * machine.tol)
        assert same_model(part, whole, X)


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_a_resumed_model_is_never_further_from_the_optimum(machine):
    X, y = data_for(machine)
    model = stopped(machine, X, y)
    gaps = [model.certificate_.gap]
    for _ in range(4):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.resume(X, y, max_iter=5)
        gaps.append(model.certificate_.gap)
    assert all(after <= before for before, after in zip(gaps, gaps[1:])) or gaps[-1] <= machine.tol
    assert gaps[-1] < 0.5 * gaps[0]


@pytest.mark.parametrize("machine", [*MACHINES[:4], *MACHINES[5:]], ids=str)
def test_a_finished_model_continues_to_a_smaller_tolerance(machine):
    X, y = data_for(machine)
    model = type(machine)(**{**machine.get_params(), "tol": 1e-2}).fit(X, y)
    early = type(machine)(**model.get_params()).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        early.resume(X, y, tol=1e-8, max_iter=0)
    assert early.certificate_.gap <= model.certificate_.gap and early.certificate_.tol == 1e-8
    model.resume(X, y, tol=1e-8)
    assert model.certificate_.gap <= 1e-8 and model.certificate_.tol == 1e-8


def test_many_sparse_features():
    rng = np.random.default_rng(0)
    X = sparse.random(1200, 3000, density=0.01, random_state=0, format="csr")
    y = np.asarray(X @ rng.normal(size=3000)).ravel() + 0.3 * rng.normal(size=1200) > 0
    for machine in (LinearSVC(tol=1e-6), LinearSVC(loss="hinge", C=10.0, tol=1e-6)):
        model = stopped(machine, X, y, 2).resume(X, y, max_iter=5000)
        assert model.certificate_.holds
        assert model.certificate_.primal == pytest.approx(machine.fit(X, y).certificate_.primal, rel=1e-5)


def test_other_data_are_refused_and_leave_the_model_as_it_is():
    X, y = data_for(MACHINES[0])
    model = stopped(MACHINES[0], X, y)
    weights = model.coef_.copy()
    for other in ((X[:-1], y[:-1]), (X[:, :-1], y), (X, y + 1)):
        with pytest.raises(ValueError, match="resume needs the data of the fit, 1500 samples"):
            model.resume(*other)
        np.testing.assert_array_equal(model.coef_, weights)
        assert model.n_features_in_ == 20 and model.predict(X).shape == y.shape
