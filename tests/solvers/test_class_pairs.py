"""Many small classes: all pairs on one matrix, in one compiled call, say what single tasks say."""

import pickle
import signal
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVC, verify
from widemargin.certificate.certificate import CertificateTable
from widemargin.gram import source
from widemargin.gram.full import FullGram
from widemargin.io import load, save
from widemargin.kernels import Gaussian, Polynomial
from widemargin.models.multiclass import ClassPairs, lay_out
from widemargin.monitor.status import Status
from widemargin.training import class_pairs

CLASSES = 14  # 91 pairs


@pytest.fixture
def data(rng):
    y = rng.permutation(np.repeat(np.arange(CLASSES), rng.integers(1, 9, CLASSES)))
    return rng.normal(size=(CLASSES, 5))[y] + 0.7 * rng.normal(size=(len(y), 5)), y


def one_by_one(monkeypatch, model, X, y):
    """The same fit by single tasks."""
    with monkeypatch.context() as patch:
        patch.setattr(class_pairs, "FEWEST_PAIRS", 10**9)
        return model.fit(X, y)


def kernel_matrix(X):
    return Gaussian(0.2)(X)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, kernel_matrix], ids=["dense", "sparse", "precomputed"])
@pytest.mark.parametrize("options", [{"C": 3.0}, {"C": 1e3, "tol": 1e-6}, {"C": 0.5, "class_weight": "balanced"}])
def test_the_same_model_as_by_single_tasks(form, options, data, monkeypatch):
    X, y = data
    X = form(X)
    kernel = {"kernel": "precomputed"} if form is kernel_matrix else {"gamma": 0.2}
    fast = SVC(**options, **kernel).fit(X, y)
    slow = one_by_one(monkeypatch, SVC(**options, **kernel), X, y)
    assert isinstance(fast.certificates_, CertificateTable) and isinstance(slow.certificates_, list)
    assert fast.certificate_.holds and slow.certificate_.holds
    np.testing.assert_allclose(fast.decision_function(X), slow.decision_function(X), atol=1e-6)
    np.testing.assert_array_equal(fast.n_support_, slow.n_support_)
    assert fast.certificate_.objective == pytest.approx(slow.certificate_.objective, rel=1e-9)
    for mine, theirs in zip(fast.certificates_, slow.certificates_, strict=True):
        assert mine.holds and mine.n_support == theirs.n_support
        assert mine.dual <= theirs.objective * (1 + 1e-9) and theirs.dual <= mine.objective * (1 + 1e-9)
    assert verify(fast, X, y).holds


def test_scikit_learns_layout(data):
    X, y = data
    ours = SVC(C=2.0, gamma=0.2, tol=1e-8).fit(X, y)
    theirs = sklearn.svm.SVC(C=2.0, gamma=0.2, tol=1e-8).fit(X, y)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)


def test_rounded_values_of_large_matrices_are_counted(data, monkeypatch):
    """Beyond 2,048 samples the matrix is float32; here from 20 on."""
    X, y = data
    monkeypatch.setattr(source, "FULL", 20)
    for C in (1.0, 1e4):
        model = SVC(C=C, gamma=0.2).fit(X, y)
        assert model.certificate_.holds
        assert verify(model, X, y).violation <= model.certificate_.violation + 1e-9


def test_values_are_rounded_once_and_within_their_errors(rng):
    X = rng.normal(size=(700, 4))
    kernel = Gaussian(0.3)
    gram = FullGram.rounded(kernel, kernel.prepare(X, np.float64), n_threads=2)
    exact = kernel(X)
    np.testing.assert_array_equal(gram.matrix, exact.astype(np.float32))
    bound = gram.errors.left @ gram.errors.right.T
    assert (np.abs(gram.matrix - exact) <= bound).all() and bound.max() < 1e-7


def test_what_is_not_proven_is_trained_by_itself(data, monkeypatch):
    """Of one pair the compiled call says that it is not proven."""
    X, y = data
    plain = class_pairs.train_batch

    def doubting(batch, gram, stopping, is_psd, answers):
        plain(batch, gram, stopping, is_psd, answers)
        answers.is_proven[3] = False

    expected = SVC(C=3.0, gamma=0.2).fit(X, y)
    monkeypatch.setattr(class_pairs, "train_batch", doubting)
    model = SVC(C=3.0, gamma=0.2).fit(X, y)
    assert model.certificate_.holds and isinstance(model.certificates_, list)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-9)


def test_ctrl_c_ends_between_two_slices(data, monkeypatch):
    X, y = data
    plain, calls = class_pairs.train_batch, []

    def pressed(*arguments):
        plain(*arguments)
        calls.append(arguments)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(class_pairs, "SLICE", 64)
    monkeypatch.setattr(class_pairs, "train_batch", pressed)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = SVC(C=3.0, gamma=0.2, on_interrupt="keep").fit(X, y)
    assert len(calls) == 1 and model.status_ is Status.INTERRUPTED
    assert 0 < np.count_nonzero(model.n_iter_) < len(model.n_iter_)
    assert model.predict(X).shape == y.shape


def test_hard_margins_have_a_finite_primal(rng):
    """Pairs with infinite losses are certified one by one, by the scaling that keeps the losses zero."""
    y = np.repeat(np.arange(12), 3)
    X = 10.0 * np.eye(12)[y] + rng.normal(size=(36, 12))
    model = SVC(kernel="linear", C=np.inf).fit(X, y)
    assert model.certificate_.holds
    assert model.certificate_.primal < np.inf and model.certificate_.gap < 1e-3


def test_a_kernel_that_is_not_positive_semi_definite_is_named(data):
    X, y = data
    with pytest.warns(UserWarning):
        model = SVC(kernel=Polynomial(degree=1, gamma=-1.0), C=10.0).fit(X, y)
    assert not model.certificate_.holds


def test_certificates_survive_pickling_and_files(data, tmp_path):
    X, y = data
    model = SVC(C=3.0, gamma=0.2).fit(X, y)
    save(model, tmp_path / "model")
    for again in (pickle.loads(pickle.dumps(model)), load(tmp_path / "model")):
        assert again.certificate_.holds
        assert again.certificate_.primal == model.certificate_.primal
        assert again.certificates_[7] == model.certificates_[7]
        assert len(again.certificate_.parts) == len(model.certificates_)


def test_a_table_does_not_hold_if_one_row_does_not(data):
    X, y = data
    table = SVC(C=3.0, gamma=0.2).fit(X, y).certificates_
    facts = table.facts.copy()
    facts[5, 4] = 1.0  # a violation above tol
    assert table.all_hold and not replace(table, facts=facts).all_hold


def test_layout_of_pairs_is_that_of_a_loop(rng):
    labels = rng.integers(0, 5, 40)
    pairs = ClassPairs(labels, 5)
    beta = np.concatenate([rng.normal(size=len(pair.sign)) for pair in pairs])
    layout = lay_out(pairs, beta, labels, 5)
    place = {sample: column for column, sample in enumerate(layout.support)}
    start = 0
    for pair in pairs:
        for sample, sign, value in zip(pair.index, pair.sign, beta[start:]):
            row = pair.negative - 1 if sign > 0 else pair.positive
            assert layout.coefficients[row, place[sample]] == value
        start += len(pair.sign)
    whole = pairs.variables()
    np.testing.assert_array_equal(whole.samples, np.concatenate([pair.index for pair in pairs]))
    np.testing.assert_array_equal(np.diff(whole.starts), [len(pair.sign) for pair in pairs])
