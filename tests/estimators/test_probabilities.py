"""Probabilities: Platt's sigmoid, the coupling of pairs, and both inside the classifiers."""

import threading

import numpy as np
import pytest
import sklearn.svm
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import brier_score_loss
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, NuSVC
from widemargin.calibration import PlattScaling
from widemargin.calibration.held_out import assign_folds
from widemargin.calibration.sigmoid import agreeing_with, couple_pairs, fit_sigmoid
from widemargin.monitor.status import Status
from widemargin.training.fit import Training


def test_sigmoid_against_a_general_optimiser():
    rng = np.random.default_rng(0)
    values = rng.normal(size=200)
    sign = np.where(rng.uniform(size=200) < 1 / (1 + np.exp(-2.0 * values - 0.5)), 1.0, -1.0)
    weight = rng.uniform(0.5, 2.0, 200)
    positive, negative = weight[sign > 0].sum(), weight[sign < 0].sum()
    target = np.where(sign > 0, (positive + 1) / (positive + 2), 1 / (negative + 2))

    def loss(ab):
        u = ab[0] * values + ab[1]
        return np.sum(weight * (target * np.logaddexp(0, u) + (1 - target) * np.logaddexp(0, -u)))

    a, b = fit_sigmoid(values, sign, weight)
    best = minimize(loss, [0.0, 0.0], tol=1e-12)
    assert (a, b) == pytest.approx(tuple(best.x), abs=1e-4)
    assert a < 0


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e6])
def test_sigmoid_survives_any_scale(scale):
    values = scale * np.r_[np.linspace(-2, -1, 20), np.linspace(1, 2, 20)]
    a, b = fit_sigmoid(values, np.sign(values), np.ones(40))
    assert np.isfinite([a, b]).all() and a <= 0


def test_equal_values_give_the_share_of_the_classes():
    a, b = fit_sigmoid(np.zeros(40), np.r_[np.ones(10), -np.ones(30)], np.ones(40))
    assert 1 / (1 + np.exp(b)) == pytest.approx(0.25, abs=0.03)


def test_coupling_recovers_consistent_probabilities():
    rng = np.random.default_rng(1)
    for n_classes in (3, 5, 12):
        p = rng.dirichlet(np.ones(n_classes), size=20)
        i, j = np.triu_indices(n_classes, 1)
        found = couple_pairs(p[:, i] / (p[:, i] + p[:, j]), n_classes)
        np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
        np.testing.assert_allclose(found, p, atol=2e-4)


def test_coupling_is_the_minimum():
    rng = np.random.default_rng(2)
    pairwise = rng.uniform(0.05, 0.95, size=(5, 6))
    i, j = np.triu_indices(4, 1)
    for row, p in zip(pairwise, couple_pairs(pairwise, 4), strict=True):
        r = np.zeros((4, 4))
        r[i, j], r[j, i] = row, 1 - row

        def loss(q, r=r):
            return 0.5 * np.sum((r.T * q[:, None] - r * q[None, :]) ** 2)

        best = minimize(
            loss, np.full(4, 0.25), bounds=[(0, 1)] * 4, constraints={"type": "eq", "fun": lambda q: q.sum() - 1}
        )
        assert loss(p) <= best.fun + 1e-8


def test_folds_spread_every_class():
    labels = np.repeat([0, 1, 2], [50, 10, 3])
    fold = assign_folds(labels, np.random.RandomState(0))
    assert np.bincount(fold[labels == 0], minlength=5).tolist() == [10] * 5
    assert np.bincount(fold[labels == 1], minlength=5).tolist() == [2] * 5
    assert len(set(fold[labels == 2])) == 3


@pytest.mark.filterwarnings("ignore:The `probability` parameter was deprecated:FutureWarning")
@pytest.mark.parametrize("machine", [SVC, NuSVC])
def test_two_classes_as_good_as_sklearn(machine):
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    parameters = {"probability": True, "random_state": 0} | ({"nu": 0.3} if machine is NuSVC else {"C": 0.5})
    ours = machine(**parameters).fit(X[::2], y[::2])
    theirs = getattr(sklearn.svm, machine.__name__)(**parameters).fit(X[::2], y[::2])
    found, expected = ours.predict_proba(X[1::2]), theirs.predict_proba(X[1::2])
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    assert brier_score_loss(y[1::2], found[:, 1]) <= brier_score_loss(y[1::2], expected[:, 1]) + 0.005
    assert np.corrcoef(found[:, 1], expected[:, 1])[0, 1] > 0.99
    np.testing.assert_allclose(np.log(found), ours.predict_log_proba(X[1::2]))
    # scikit-learn's convention: A and B belong to the negative of decision_function, and give the first class
    u = -ours.decision_function(X[1::2]) * ours.probA_ + ours.probB_
    sigmoid = 1 / (1 + np.exp(u))
    agrees = (sigmoid > 0.5) == (ours.predict(X[1::2]) == 0)  # elsewhere predict has the last word
    assert agrees.mean() > 0.97
    np.testing.assert_allclose(found[agrees, 0], sigmoid[agrees], atol=1e-12)
    assert np.sign(ours.probA_) == np.sign(theirs._probA)
    assert ours.probB_ == pytest.approx(theirs._probB, abs=0.5)


@pytest.mark.filterwarnings("ignore:The `probability` parameter was deprecated:FutureWarning")
@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_three_classes(scheme):
    X, y = load_iris(return_X_y=True)
    ours = SVC(probability=True, random_state=0, multi_class=scheme).fit(X, y)
    theirs = sklearn.svm.SVC(probability=True, random_state=0).fit(X, y)
    found = ours.predict_proba(X)
    assert found.shape == (150, 3) and ours.probA_.shape == (3,)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    truth = np.eye(3)[y]
    assert np.sum((found - truth) ** 2) <= np.sum((theirs.predict_proba(X) - truth) ** 2) + 2.0
    assert np.mean(found.argmax(axis=1) == y) > 0.95


def test_a_seed_decides_the_folds():
    X, y = make_classification(120, flip_y=0.2, random_state=0)
    one, same, other = (SVC(probability=True, random_state=seed).fit(X, y) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.predict_proba(X), same.predict_proba(X))
    assert one.probA_ != other.probA_


def test_probabilities_from_several_threads():
    X, y = make_classification(150, n_classes=3, n_informative=4, random_state=0)
    expected = SVC(probability=True, random_state=3).fit(X, y).predict_proba(X)
    found = [None] * 4

    def fit(number):
        found[number] = SVC(probability=True, random_state=3).fit(X, y).predict_proba(X)

    threads = [threading.Thread(target=fit, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for values in found:
        np.testing.assert_allclose(values, expected, atol=1e-9)


def test_a_class_smaller_than_the_number_of_folds():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(30, 2)), rng.normal(loc=3.0, size=(2, 2))]
    y = np.r_[np.zeros(30), np.ones(2)]
    found = SVC(probability=True, random_state=0).fit(X, y).predict_proba(X)
    assert np.isfinite(found).all() and found[:, 1].mean() < 0.5


def test_only_where_asked_for():
    X, y = load_iris(return_X_y=True)
    machine = SVC().fit(X, y)
    assert not hasattr(machine, "predict_proba") and machine.probA_.size == 0
    with pytest.raises(AttributeError, match="predict_proba"):
        machine.predict_proba(X)
    machine.probability = True
    with pytest.raises(Exception, match="fitted with probability=False: set probability=True"):
        machine.predict_proba(X)


# ---- agreement with predict, cost, and the composable form


@pytest.mark.parametrize("parameters", [{}, {"multi_class": "ovr"}, {"break_ties": True}, {"class_weight": "balanced"}])
@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_the_most_probable_class_is_the_predicted_one(n_classes, parameters):
    X, y = make_classification(200, 8, n_informative=5, n_classes=n_classes, flip_y=0.4, random_state=n_classes)
    machine = SVC(probability=True, random_state=0, C=3.0, **parameters).fit(X[:120], y[:120])
    found = machine.predict_proba(X)
    np.testing.assert_array_equal(machine.classes_[found.argmax(axis=1)], machine.predict(X))
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    assert found.min() >= 0.0


@given(st.integers(2, 7), st.integers(0, 2**31))
def test_agreement_changes_as_little_as_possible(n_classes, seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(n_classes, 0.5), size=5)
    predicted = rng.integers(0, n_classes, 5)
    found = agreeing_with(predicted, p)
    np.testing.assert_array_equal(found.argmax(axis=1), predicted)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    right = p.argmax(axis=1) == predicted
    np.testing.assert_array_equal(found[right], p[right])
    for row, winner, new in zip(p, predicted, found, strict=True):  # no random point that agrees is nearer
        others = rng.dirichlet(np.full(n_classes, 0.5), size=200)
        others = others[others.argmax(axis=1) == winner]
        assert np.all(np.linalg.norm(others - row, axis=1) >= np.linalg.norm(new - row) - 1e-6)


def test_agreement_by_hand():
    p = [[0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.6, 0.3, 0.1], [0.4, 0.2, 0.4], [0.2, 0.7, 0.1]]
    nearest = [[0.4, 0.4, 0.2], [0.5, 0.3, 0.2], [0.35, 0.3, 0.35], [0.4, 0.2, 0.4], [0.2, 0.4, 0.4]]
    predicted = np.array([1, 0, 2, 2, 2])
    found = agreeing_with(predicted, np.array(p))
    np.testing.assert_allclose(found, nearest, atol=2e-9)
    np.testing.assert_array_equal(found.argmax(axis=1), predicted)  # of a tie, argmax takes the first


def test_held_out_values_are_those_of_machines_that_have_not_seen_the_sample():
    X, y = make_classification(120, 5, flip_y=0.2, random_state=2)
    machine = SVC(probability=True, random_state=0, C=2.0, gamma=0.2, tol=1e-8)
    fold = assign_folds(y, np.random.RandomState(0))
    values = np.zeros(120)
    for k in range(5):
        values[fold == k] = (
            SVC(C=2.0, gamma=0.2, tol=1e-8).fit(X[fold != k], y[fold != k]).decision_function(X[fold == k])
        )
    expected = fit_sigmoid(values, np.where(y == 1, 1.0, -1.0), np.ones(120))
    machine.fit(X, y)
    assert (machine.probA_[0], -machine.probB_[0]) == pytest.approx(expected, rel=0.02, abs=0.01)


def test_folds_cost_no_kernel_rows_and_few_steps():
    X, y = make_classification(400, 10, n_informative=6, n_classes=4, flip_y=0.1, random_state=0)
    plain, with_folds = SVC().fit(X, y), SVC(probability=True, random_state=0).fit(X, y)
    assert with_folds.certificate_.rows_computed == plain.certificate_.rows_computed
    np.testing.assert_array_equal(plain.dual_coef_, with_folds.dual_coef_)


@pytest.mark.parametrize("status", [Status.TIME_LIMIT, Status.INTERRUPTED])
def test_folds_that_end_early_are_said(status, monkeypatch):
    """The model is optimal, its probabilities are not: the status of the folds is that of the fit."""
    X, y = make_classification(300, random_state=0)
    exact = SVC(probability=True, random_state=0).fit(X, y)
    train = Training._train_one

    def impatient(self, task, stopping, watch, neighbour, *rest):
        if neighbour is not None:
            self.cancelled.request(status)
        return train(self, task, stopping, watch, neighbour, *rest)

    monkeypatch.setattr(Training, "_train_one", impatient)
    model = SVC(probability=True, random_state=0, on_interrupt="keep")
    with pytest.warns(ConvergenceWarning, match="probabilities are rough"):
        model.fit(X, y)
    assert (model.status_, model.fit_status_) == (status, 1)
    assert model.certificate_.holds
    np.testing.assert_array_equal(model.dual_coef_, exact.dual_coef_)
    # The folds were left at the answer without their samples, which is near.
    np.testing.assert_allclose(model.predict_proba(X), exact.predict_proba(X), atol=0.2)


def test_nu_that_a_fold_cannot_have():
    """Without a fold the smaller class can be too small for nu: the fit goes on with the largest nu there is."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(43, 2)), np.r_[np.zeros(32), np.ones(11)]
    machine = NuSVC(nu=2 * 11 / 43, probability=True, random_state=0).fit(X, y)
    assert np.isfinite(machine.predict_proba(X)).all()


def test_platt_scaling_by_itself_is_the_same_as_inside():
    X, y = make_classification(150, 6, n_informative=4, n_classes=3, flip_y=0.2, random_state=0)
    machine = SVC(decision_function_shape="ovo").fit(X, y)
    values = machine.decision_function(X)
    scaling = PlattScaling().fit(values, y)
    found = scaling.predict_proba(values)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    assert np.mean(found.argmax(axis=1) == y) > 0.7
    one = PlattScaling().fit(values[y < 2][:, 0], 1 - y[y < 2])  # the first class of the pair is positive
    assert one.A_[0] == scaling.A_[0] and one.B_[0] == scaling.B_[0]


def test_platt_scaling_refuses_other_shapes():
    with pytest.raises(ValueError, match="3 columns, one per pair of the 3 classes"):
        PlattScaling().fit(np.zeros((6, 2)), [0, 1, 2, 0, 1, 2])
    with pytest.raises(ValueError, match="one label per row"):
        PlattScaling().fit(np.zeros(5), [0, 1])


def test_scikit_learns_composable_form():
    X, y = load_iris(return_X_y=True)
    found = CalibratedClassifierCV(SVC(), method="sigmoid", ensemble=False, cv=3).fit(X, y).predict_proba(X)
    assert np.mean(found.argmax(axis=1) == y) > 0.9
