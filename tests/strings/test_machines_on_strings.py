"""Machines trained on lists of strings: the same answers as on the kernel matrix, through every door."""

import pickle

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from widemargin import SVC, SVR, NuSVC, OneClassSVM, io, margins, verify
from widemargin.io.kernel_text import kernel_from_text
from widemargin.kernels import BlendedSpectrum, GappedKmer, Mismatch, Spectrum, Subsequence

pytestmark = pytest.mark.needs_compiler  # too many fits for interpreted code

KERNELS = [
    Spectrum(3),
    Spectrum(3, normalize=True),
    BlendedSpectrum(3, decay=0.8),
    Mismatch(3, 1, normalize=True),
    GappedKmer(2, 1, reverse_complement=True),
    Subsequence(2, normalize=True),
]


def genes(n, rng, length=40):
    """Random DNA; half of it with a motif planted at a random place."""
    strings, labels = [], []
    for number in range(n):
        letters = rng.choice(list("ACGT"), length)
        if number % 2:
            place = rng.integers(length - 6)
            letters[place : place + 6] = list("TATAAT")
        strings.append("".join(letters))
        labels.append("motif" if number % 2 else "none")
    return strings, np.array(labels)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    return *genes(120, rng), *genes(60, rng)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_strings_and_their_kernel_matrix_train_the_same_machine(kernel, data):
    strings, y, new, labels = data
    machine = SVC(kernel=kernel, tol=1e-7).fit(strings, y)
    K, K_new = kernel(strings), kernel(new, strings)
    other = SVC(kernel="precomputed", tol=1e-7).fit(K, y)
    np.testing.assert_allclose(machine.decision_function(new), other.decision_function(K_new), atol=1e-5)
    assert machine.certificate_.holds and verify(machine, strings, y).holds
    assert machine.support_vectors_ == [strings[i] for i in machine.support_]
    assert np.mean(machine.predict(new) == labels) > 0.6
    geometric = margins(machine, strings, y).geometric
    assert geometric.shape == (120,) and np.isfinite(geometric).all()


def test_the_other_machines_take_strings(data):
    strings, y, new, _ = data
    kernel = Spectrum(3, normalize=True)
    K, K_new = kernel(strings), kernel(new, strings)
    share = np.array([s.count("A") for s in strings]) / 40.0
    for machine, target in ((SVR(epsilon=0.01), share), (NuSVC(nu=0.4), y), (OneClassSVM(nu=0.3), None)):
        machine.set_params(tol=1e-8)
        by_matrix = type(machine)(**{**machine.get_params(), "kernel": "precomputed"}).fit(K, target)
        by_strings = machine.set_params(kernel=kernel).fit(strings, target)
        method = "predict" if isinstance(machine, SVR) else "decision_function"
        values = getattr(by_strings, method)(new), getattr(by_matrix, method)(K_new)
        np.testing.assert_allclose(*values, atol=1e-5)


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_many_classes(scheme, data):
    strings, _, new, _ = data
    y = np.array([max("ACGT", key=s.count) for s in strings])
    machine = SVC(kernel=Spectrum(1), multi_class=scheme, tol=1e-7).fit(strings, y)
    other = SVC(kernel="precomputed", multi_class=scheme, tol=1e-7).fit(Spectrum(1)(strings), y)
    values = machine.decision_function(new)
    np.testing.assert_allclose(values, other.decision_function(Spectrum(1)(new, strings)), atol=1e-4)
    assert np.mean(machine.predict(strings) == y) > 0.9
    # tiles of kernel blocks, for machines whose weights are too many to hold
    machine._expansion.may_collapse = lambda: False
    np.testing.assert_allclose(machine.decision_function(new), values, atol=1e-9)


def test_arrays_columns_and_tables_of_strings(data):
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    strings, y, new, _ = data
    kernel = Spectrum(3)
    expected = SVC(kernel=kernel).fit(strings, y).decision_function(new)
    for form in (tuple, np.array, lambda s: np.array(s, object), lambda s: np.array(s)[:, None], pd.Series, pl.Series):
        machine = SVC(kernel=kernel).fit(form(strings), y)
        np.testing.assert_allclose(machine.decision_function(form(new)), expected, atol=1e-9)
    frame = pd.DataFrame({"sequence": strings}, index=np.arange(len(strings))[::-1])
    assert SVC(kernel=kernel).fit(frame, y).predict(frame[:3]).shape == (3,)


def test_weights_equal_repetition(data):
    strings, y, new, _ = data
    weight = np.tile([0.0, 1.0, 2.0], 40)
    repeated = np.repeat(np.arange(120), weight.astype(int))
    one = SVC(kernel=Spectrum(3), tol=1e-8).fit(strings, y, sample_weight=weight)
    two = SVC(kernel=Spectrum(3), tol=1e-8).fit([strings[i] for i in repeated], y[repeated])
    np.testing.assert_allclose(one.decision_function(new), two.decision_function(new), atol=1e-5)


def test_cross_validation_and_grid_search(data):
    strings, y, _, _ = data
    assert cross_val_score(SVC(kernel=Mismatch(4, 1)), strings, y, cv=3).mean() > 0.5
    kernels = [Spectrum(2), Spectrum(4)]
    search = GridSearchCV(SVC(), {"kernel": kernels, "C": [0.1, 1.0]}, cv=3).fit(strings, y)
    assert search.best_params_["kernel"] in kernels


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_models_are_kept(kernel, data, tmp_path):
    strings, y, new, _ = data
    machine = SVC(kernel=kernel).fit(strings, y)
    expected = machine.decision_function(new)
    io.save(machine, tmp_path / "strings.model")
    for again in (pickle.loads(pickle.dumps(machine)), io.load(tmp_path / "strings.model")):
        np.testing.assert_allclose(again.decision_function(new), expected, rtol=1e-12, atol=1e-12)
    assert kernel_from_text(repr(kernel)) == kernel


def test_large_sets_are_trained_on_sparse_rows(monkeypatch, data):
    """Beyond the size of the full matrix rows are computed on demand; nobody sees n^2 values."""
    from widemargin.gram import source

    monkeypatch.setattr(source, "FULL", 50)
    strings, y, new, _ = data
    small = SVC(kernel=Spectrum(4), tol=1e-6, cache_size=0.01).fit(strings, y)
    monkeypatch.undo()
    whole = SVC(kernel=Spectrum(4), tol=1e-6).fit(strings, y)
    np.testing.assert_allclose(small.decision_function(new), whole.decision_function(new), atol=1e-4)


def test_short_and_empty_strings():
    strings, y = ["", "a", "ab", "abab", "ba", "b"], [0, 0, 1, 1, 0, 0]
    machine = SVC(kernel=Spectrum(2, normalize=True), C=10.0).fit(strings, y)
    assert machine.predict(["ab", "", "zzz"]).tolist() == [1, 0, 0]
    nothing = SVC(kernel=Spectrum(9)).fit(strings, y)
    assert nothing.decision_function(["a" * 20, ""]).tolist() == [nothing.intercept_[0]] * 2


def test_numbers_and_strings_do_not_mix(data):
    strings, y, _, _ = data
    with pytest.raises(TypeError, match="A string kernel takes"):
        SVC(kernel=Spectrum(2)).fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match="could not convert string to float"):
        SVC().fit(np.array(strings)[:, None], y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SVC(kernel=Spectrum(2)).fit(strings, y[:-1])


def test_many_classes_of_strings_are_trained_at_once_and_predicted():
    rng = np.random.default_rng(3)
    strings, labels = ["".join(rng.choice(list("ACGT"), 30)) for _ in range(60)], np.arange(60) % 12
    kernel = Spectrum(3)
    on_strings = SVC(kernel=kernel, C=10.0).fit(strings, labels)
    on_matrix = SVC(kernel="precomputed", C=10.0).fit(kernel(strings), labels)
    np.testing.assert_array_equal(on_strings.predict(strings), on_matrix.predict(kernel(strings)))
