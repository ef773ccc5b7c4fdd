"""SVC and SVR with a linear kernel go through the linear solvers, and are the machines they were."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification, make_regression

import widemargin
from widemargin import SVC, SVR, LinearSVC
from widemargin.monitor.status import Status
from widemargin.training import linear_path as kernel_path
from widemargin.training.fit import Training


@pytest.fixture
def paths(monkeypatch):
    """Records which problems the linear solvers took."""
    taken = []
    train = kernel_path.LinearPath.train

    def record(self, *arguments):
        answer = train(self, *arguments)
        taken.append(answer is not None)
        return answer

    monkeypatch.setattr(kernel_path.LinearPath, "train", record)
    return taken


def by_blocks(monkeypatch, machine, *data, **fit):
    """The same fit by the block solver."""
    with monkeypatch.context() as patch:
        patch.setattr(kernel_path, "FEWEST", 10**9)
        return machine.fit(*data, **fit)


X, Y = make_classification(1200, 12, n_informative=6, flip_y=0.1, random_state=0)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [0.05, 20.0])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_two_classes(loss, C, form, paths, monkeypatch):
    machine = SVC(kernel="linear", C=C, loss=loss, tol=1e-5).fit(form(X), Y)
    assert paths == [True]
    expected = by_blocks(monkeypatch, SVC(kernel="linear", C=C, loss=loss, tol=1e-5), form(X), Y)
    assert machine.certificate_.holds and machine.certificate_.violation <= 1e-5
    assert machine.certificate_.primal == pytest.approx(expected.certificate_.primal, rel=1e-6)
    np.testing.assert_allclose(machine.decision_function(form(X)), expected.decision_function(form(X)), atol=2e-4)
    verified = widemargin.verify(machine, form(X), Y)
    assert verified.violation <= 2e-5 and verified.infeasibility <= 1e-9


def test_is_the_machine_of_linear_svc_with_unpenalised_intercept():
    machine = SVC(kernel="linear", tol=1e-6).fit(X, Y)
    linear = LinearSVC(loss="hinge", penalize_intercept=False, tol=1e-9).fit(X, Y)
    np.testing.assert_allclose(machine.coef_, linear.coef_, atol=1e-5)
    np.testing.assert_allclose(machine.intercept_, linear.intercept_, atol=1e-5)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_many_classes_and_weights(multi_class, paths, monkeypatch):
    data, labels = make_classification(
        1900, 10, n_informative=6, n_classes=3, weights=[0.35, 0.35, 0.3], random_state=1
    )
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(labels))
    shape = {"multi_class": multi_class, "decision_function_shape": multi_class}
    make = lambda: SVC(kernel="linear", class_weight="balanced", tol=1e-4, **shape)  # noqa: E731
    machine = make().fit(data, labels, sample_weight=weight)
    assert any(paths)
    expected = by_blocks(monkeypatch, make(), data, labels, sample_weight=weight)
    assert machine.certificate_.holds
    assert machine.certificate_.primal == pytest.approx(expected.certificate_.primal, rel=1e-6)
    np.testing.assert_allclose(machine.decision_function(data), expected.decision_function(data), atol=5e-3)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_regression(loss, paths, monkeypatch):
    data, y = make_regression(1100, 8, noise=5.0, random_state=0)
    machine = SVR(kernel="linear", loss=loss, epsilon=1.0, tol=1e-4).fit(data, y)
    assert paths == [True]
    expected = by_blocks(monkeypatch, SVR(kernel="linear", loss=loss, epsilon=1.0, tol=1e-4), data, y)
    assert machine.certificate_.holds
    assert machine.certificate_.primal == pytest.approx(expected.certificate_.primal, rel=1e-6)


def test_stays_away_from_what_it_cannot_solve(paths):
    SVC(kernel="linear", C=np.inf).fit(np.vstack([X[:600] + 50.0, X[:600] - 50.0]), np.repeat([0, 1], 600))
    SVC(kernel="linear", max_iter=10_000_000).fit(X, Y)
    assert paths == [False, False]
    paths.clear()
    SVC(kernel="linear").fit(X[:500], Y[:500])
    SVC().fit(X, Y)
    assert paths == []


def test_an_answer_that_fails_is_taken_up_by_the_block_solver(monkeypatch):
    """Newton stopped after one step: the block solver goes on from those multipliers to the tolerance."""
    solve = kernel_path.solve_linear

    def hurried(problem, run):
        return solve(problem, run.limited(max_iter=1))

    monkeypatch.setattr(kernel_path, "solve_linear", hurried)
    starts = []
    train_one = Training._train_one

    def spy(self, task, *rest):
        starts.append(task.start)
        return train_one(self, task, *rest)

    monkeypatch.setattr(Training, "_train_one", spy)
    machine = SVC(kernel="linear").fit(X, Y)
    assert machine.certificate_.holds and machine.certificate_.rows_computed > 0


def test_gap_criterion_and_probabilities(paths):
    machine = SVC(kernel="linear", stopping="gap", tol=1e-5).fit(X, Y)
    assert paths == [True] and machine.certificate_.holds
    paths.clear()
    SVC(kernel="linear", probability=True, random_state=0).fit(X, Y).predict_proba(X[:3])
    assert all(paths) and len(paths) > 1  # held-out folds have samples without weight


@pytest.mark.parametrize("seed", range(6))
def test_features_that_are_not_scaled_leave_no_sum_behind(seed):
    """Newton steps left the sum of tiny multipliers off by 1e-6 of their size: half of these were called stalled."""
    rng = np.random.default_rng(seed)
    scale = np.array([30.0, 2000.0, 50.0, 1500.0, 150.0, 5000.0, 40.0, 100.0, 100.0])
    X = rng.normal(size=(1200, 9)) * scale
    X[1190:] += 6.0 * rng.normal(size=9) * scale
    certificate = SVC(kernel="linear").fit(X.round(), np.arange(1200) >= 1190).certificate_
    assert certificate.holds
    assert certificate.infeasibility <= 1e-12


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_class_of_one_sample_among_thousands(n_classes):
    """Every STRIDE-th sample may lack a class; and what holds is called optimal."""
    samples = np.random.default_rng(0).integers(-9, 10, (2 * n_classes - 1, 2073, 1))[-1].astype(np.float64)
    y = np.zeros(2073, np.int64)
    y[:n_classes] = np.arange(n_classes)
    machine = SVC(kernel="linear", C=0.0057).fit(samples, y)
    assert machine.certificate_.holds
    assert machine.status_ is Status.OPTIMAL
