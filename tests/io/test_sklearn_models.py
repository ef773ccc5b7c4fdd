"""Conversion to and from scikit-learn: the other library computes the same function from the converted model."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import load_iris

import widemargin
from widemargin import SVC
from widemargin.io import from_sklearn, load, save, to_sklearn
from widemargin.kernels import Gaussian, Linear

X, SPECIES = load_iris(return_X_y=True)
X, SPECIES = X[::2], SPECIES[::2]
TARGETS = X @ [1.0, -2.0, 0.5, 1.0] + np.random.default_rng(1).normal(scale=0.3, size=len(X))
NEW = X + np.random.default_rng(2).normal(scale=0.4, size=X.shape)


def square(a, b):
    """A kernel function of the user's."""
    return (0.1 * a @ b.T + 1.0) ** 2


def compare(one, other, data):
    """Both compute the same function and give the same answers."""
    if hasattr(one, "decision_function"):
        expected = one.decision_function(data)
        size = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(other.decision_function(data), expected, atol=1e-8 * size)
        clear = np.abs(expected) > 1e-7 * size if expected.ndim == 1 else slice(None)  # on a boundary rounding decides
        np.testing.assert_array_equal(one.predict(data)[clear], other.predict(data)[clear])
    else:
        np.testing.assert_allclose(other.predict(data), one.predict(data), atol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # the sigmoid kernel is indefinite
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid", "precomputed", square, "rbf sparse"])
@pytest.mark.parametrize(
    ("machine", "n_classes"),
    [("SVC", 2), ("SVC", 3), ("NuSVC", 2), ("NuSVC", 3), ("SVR", 0), ("NuSVR", 0), ("OneClassSVM", 0)],
)
def test_there_and_back(machine, n_classes, kernel):
    sparse, kernel = kernel == "rbf sparse", "rbf" if kernel == "rbf sparse" else kernel
    chosen = np.isin(SPECIES, range(n_classes or 3))
    data, new, y = X[chosen], NEW, (SPECIES if n_classes else TARGETS)[chosen]
    if kernel == "precomputed":
        data, new = data @ data.T, new @ data.T
    if sparse:
        data, new = sp.csr_matrix(data), sp.csr_matrix(new)
    options = {"nu": 0.2} if machine == "NuSVC" else {}
    ours = getattr(widemargin, machine)(kernel=kernel, gamma=0.1, coef0=0.5, **options).fit(data, y)
    theirs = getattr(sklearn.svm, machine)(kernel=kernel, gamma=0.1, coef0=0.5, **options).fit(data, y)
    compare(ours, to_sklearn(ours), new)
    compare(theirs, from_sklearn(theirs), new)
    back = to_sklearn(from_sklearn(theirs))
    compare(theirs, back, new)
    for name in ("support_", "n_support_", "intercept_"):
        if not callable(kernel):
            np.testing.assert_array_equal(getattr(back, name), getattr(theirs, name))
    if kernel == "linear":
        np.testing.assert_allclose(to_sklearn(ours).coef_, ours.coef_, atol=1e-12)


@pytest.mark.parametrize("kernel", ["laplacian", Gaussian(0.3) + Linear(), Gaussian(0.3)], ids=str)
def test_kernels_that_scikit_learn_lacks(kernel):
    ours = SVC(kernel=kernel).fit(X, SPECIES)
    theirs = to_sklearn(ours)
    assert isinstance(theirs.kernel, str) == isinstance(kernel, Gaussian)
    compare(ours, theirs, NEW)


def test_parameters_and_training_again():
    ours = SVC(C=2.0, class_weight={0: 2.0}, tol=1e-6, decision_function_shape="ovo", loss="squared_hinge")
    ours.fit(X, SPECIES)
    theirs = to_sklearn(ours)
    assert theirs.get_params()["C"] == 2.0
    assert theirs.get_params()["class_weight"] == {0: 2.0}
    compare(ours, theirs, NEW)
    assert clone(theirs).fit(X, SPECIES).score(X, SPECIES) > 0.9
    again = from_sklearn(theirs)
    assert again.tol == 1e-6
    assert again.cache_size == 200


def test_labels_names_and_probabilities(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    names = np.array(["x", "y", "z"])[SPECIES]
    ours = SVC(probability=True, random_state=0).fit(frame, names)
    theirs = to_sklearn(ours)
    assert theirs.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(theirs.predict(frame), ours.predict(frame))
    np.testing.assert_allclose(theirs.predict_proba(frame), ours.predict_proba(frame), atol=0.005)  # its coupling's tol
    two = SVC(probability=True, random_state=0).fit(frame[:50], names[:50])
    np.testing.assert_allclose(to_sklearn(two).predict_proba(frame), two.predict_proba(frame), atol=0.005)
    back = from_sklearn(to_sklearn(two))
    np.testing.assert_allclose(back.predict_proba(frame), two.predict_proba(frame), atol=1e-12)
    save(back, tmp_path / "a.model")
    np.testing.assert_array_equal(load(tmp_path / "a.model").predict_proba(frame), back.predict_proba(frame))


def test_what_cannot_be_converted():
    with pytest.raises(TypeError, match=r"Expected a fitted SVC, .* of sklearn.svm; got"):
        from_sklearn(SVC().fit(X, SPECIES))
    with pytest.raises(TypeError, match=r"of widemargin; got"):
        to_sklearn(sklearn.svm.SVC().fit(X, SPECIES))
    with pytest.raises(ValueError, match="train with multi_class='ovo'"):
        to_sklearn(SVC(multi_class="ovr").fit(X, SPECIES))
