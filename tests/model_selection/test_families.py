"""Which searches are trained in families, and that their scores are those of scikit-learn's search.

A cell with a certificate in `certificates_` came from a family; all others were fitted by scikit-learn's own code.
"""

import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn.model_selection
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import KFold, ShuffleSplit, TimeSeriesSplit
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from widemargin.kernels.strings import Spectrum
from widemargin.model_selection import GridSearchCV
from widemargin.training import family

RNG = np.random.default_rng(0)
N = 150
X = RNG.normal(size=(N, 3))
VALUE = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * RNG.normal(size=N)
Y = np.where(VALUE > 0.3, "yes", "no")
THREE = np.digitize(VALUE, [-0.6, 0.7])
WEIGHT = RNG.uniform(0.5, 2.0, size=N)
WORDS = ["".join(RNG.choice(list("ab" if label == "yes" else "abc"), size=12)) for label in Y]
REPEATED = [(RNG.integers(0, N, size=N), RNG.permutation(N)[:40]) for _ in range(3)]
SHUFFLED = ShuffleSplit(3, test_size=0.2, train_size=0.5, random_state=0)
CS, GAMMAS = [0.1, 1.0, 30.0], [0.1, 1.0]
FLIPS = 2.0  # samples of a fold that may be predicted differently at tol = 1e-6


def product(A, B):
    return (np.asarray(A) @ np.asarray(B).T + 1.0) ** 2


def pipeline(machine, **options):
    return Pipeline([("scale", StandardScaler()), ("reduce", PCA(2, random_state=0)), ("last", machine)], **options)


CASES = {
    "gamma per fold": (SVC(), {"C": CS, "gamma": ["scale", "auto", 0.3]}, X, Y, {}),
    "class weights per fold": (SVC(), {"C": CS, "class_weight": [None, "balanced", {"yes": 3.0}]}, X, Y, {}),
    "squared hinge": (SVC(loss="squared_hinge"), {"C": CS, "gamma": GAMMAS}, X, Y, {}),
    "three classes": (SVC(), {"C": CS, "gamma": GAMMAS}, np.repeat(X, 3, axis=0), np.repeat(THREE, 3), {}),
    "rows in neither part": (SVC(), {"C": CS}, X, Y, {"cv": SHUFFLED}),
    "growing parts": (SVR(), {"C": CS}, X, VALUE, {"cv": TimeSeriesSplit(3)}),
    "repeated rows in both parts": (SVC(), {"C": CS, "class_weight": [None, "balanced"]}, X, Y, {"cv": REPEATED}),
    "repeated rows, regression": (SVR(), {"C": CS, "epsilon": [0.01, 0.2]}, X, VALUE, {"cv": REPEATED}),
    "nu": (NuSVC(), {"nu": [0.1, 0.3, 0.5], "gamma": GAMMAS}, X, Y, {}),
    "nu of three classes": (NuSVC(), {"nu": [0.1, 0.3], "gamma": ["scale", 1.0]}, X, THREE, {}),
    "nu, repeated rows": (NuSVC(), {"nu": [0.1, 0.3]}, X, Y, {"cv": REPEATED}),
    "nu, weighted": (NuSVC(), {"nu": [0.1, 0.3]}, X, Y, {"fit": {"sample_weight": 0.01 * WEIGHT}}),
    "nu of a regression": (NuSVR(), {"C": CS, "nu": [0.2, 0.6], "gamma": GAMMAS}, X, VALUE, {}),
    "another scorer, nu of a regression": (NuSVR(), {"C": CS}, X, VALUE, {"scoring": "neg_mean_absolute_error"}),
    "another scorer, nu": (NuSVC(), {"nu": [0.1, 0.3]}, X, Y, {"scoring": "roc_auc", "cv": REPEATED}),
    "precomputed": (SVC(kernel="precomputed"), {"C": CS}, product(X, X), Y, {}),
    "function": (SVC(kernel=product), {"C": CS}, X, Y, {}),
    "strings": (SVC(kernel=Spectrum(2)), {"C": CS}, WORDS, Y, {}),
    "linear": (SVC(kernel="linear"), {"C": CS}, X, Y, {}),
    "polynomial": (SVC(kernel="poly", degree=2, coef0=1.0), {"C": CS, "gamma": GAMMAS}, X, Y, {}),
    "sparse": (SVC(), {"C": CS, "gamma": GAMMAS}, sparse.csr_matrix(np.where(abs(X) < 0.4, 0.0, X)), Y, {}),
    "frame": (SVC(), {"C": CS}, pd.DataFrame(X, columns=list("abc")), pd.Series(Y), {}),
    "weighted": (SVC(), {"C": CS, "gamma": ["scale"]}, X, Y, {"fit": {"sample_weight": WEIGHT}}),
    "pipeline": (pipeline(SVC()), {"reduce": [PCA(2), "passthrough"], "last__C": CS, "last__gamma": GAMMAS}, X, Y, {}),
    "pipeline, weighted": (pipeline(SVR()), {"last__C": CS}, X, VALUE, {"fit": {"last__sample_weight": WEIGHT}}),
    "pipeline, nu": (pipeline(NuSVC()), {"last__nu": [0.5, 0.7]}, X, Y, {"scoring": "balanced_accuracy"}),
    "pipeline, training scores": (
        Pipeline([("scale", StandardScaler()), ("last", SVC())]), {"last__C": CS}, X, Y, {"return_train_score": True}
    ),
}  # fmt: skip


def searches(name, **changes):
    """Our search and scikit-learn's, both fitted."""
    estimator, grid, samples, y, options = CASES[name]
    options = {"cv": KFold(3), **options, **changes}
    grid = options.pop("param_grid", grid)
    fit_params = options.pop("fit", {})
    tol = "last__tol" if isinstance(estimator, Pipeline) else "tol"
    estimator = sklearn.base.clone(estimator).set_params(**{tol: 1e-6})
    kinds = (GridSearchCV, sklearn.model_selection.GridSearchCV)
    return [kind(estimator, grid, **options).fit(samples, y, **fit_params) for kind in kinds]


def compare(ours, theirs):
    assert all(certificate is not None and certificate.holds for row in ours.certificates_ for certificate in row)
    same_scores(ours, theirs)


def same_scores(ours, theirs):
    for key, values in theirs.cv_results_.items():
        if key.startswith("split"):
            within = 1e-4 if "train" not in key and np.abs(values).max() > 1.0 else FLIPS / 30
            np.testing.assert_allclose(ours.cv_results_[key], values, atol=within, rtol=1e-4, err_msg=key)


@pytest.mark.parametrize("name", CASES)
def test_these_searches_are_trained_in_families(name):
    compare(*searches(name))


@pytest.mark.parametrize("name", ["gamma per fold", "three classes", "nu", "precomputed"])
def test_in_single_precision(name, monkeypatch):
    monkeypatch.setattr(family, "DOUBLE", 0)
    compare(*searches(name))


@pytest.mark.parametrize("name", ["gamma per fold", "repeated rows, regression", "nu", "function", "pipeline"])
def test_without_room_for_a_matrix(name, monkeypatch):
    monkeypatch.setattr(family, "WHOLE_SHARE", 0.0)
    compare(*searches(name))


def test_a_cell_that_fails_fails_alone():
    for estimator, grid, n_failing in (
        (SVC(), {"C": [1.0, -1.0, 10.0]}, 1),
        (NuSVC(), {"nu": [0.2, 0.999, 0.3]}, 1),
        (SVC(), {"C": [1.0, 10.0], "gamma": ["scale", -1.0]}, 2),
    ):
        ours, caught = [], []
        for kind in (GridSearchCV, sklearn.model_selection.GridSearchCV):
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                ours.append(kind(estimator, grid, cv=KFold(3), error_score=-5.0).fit(X, Y))
            caught.append({(warning.category, str(warning.message)[:80]) for warning in seen})
        assert caught[0] == caught[1] and FitFailedWarning in {category for category, _ in caught[0]}
        failing = [all(certificate is None for certificate in row) for row in ours[0].certificates_]
        assert sum(failing) == n_failing
        np.testing.assert_array_equal(ours[0].cv_results_["mean_test_score"] == -5.0, failing)
        with pytest.raises(ValueError):
            GridSearchCV(estimator, grid, cv=KFold(3), error_score="raise").fit(X, Y)


@pytest.mark.filterwarnings("ignore")  # of the fits that fail, compared elsewhere
def test_a_fold_without_a_class_is_left_to_fit():
    order, splits = np.argsort(Y, kind="stable"), TimeSeriesSplit(4)
    kinds = (GridSearchCV, sklearn.model_selection.GridSearchCV)
    ours, theirs = (kind(SVC(tol=1e-6), {"C": CS}, cv=splits, refit=False).fit(X[order], Y[order]) for kind in kinds)
    same_scores(ours, theirs)
    trained = [[certificate is not None for certificate in row] for row in ours.certificates_]
    has_both = [len(set(Y[order][train])) == 2 for train, _ in splits.split(X)]
    assert trained == [has_both] * 3 and set(has_both) == {False, True}


@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (SVC(), {"C": [np.inf]}),
        (SVC(probability=True), {"C": CS}),
        (SVC(solver="platt"), {"C": [1.0]}),
        (OneClassSVM(), {"nu": [0.1, 0.5]}),
    ],
)
def test_these_are_left_to_fit(estimator, grid):
    shift = 4.0 * (Y == "yes")[:, None]  # separable, for the hard margin
    labels = np.where(Y == "yes", 1, -1)
    search = GridSearchCV(estimator, grid, cv=KFold(3), scoring="accuracy").fit(X + shift, labels)
    assert all(certificate is None for row in search.certificates_ for certificate in row)


def test_a_kernel_matrix_as_a_list_is_refused():
    with pytest.raises(ValueError, match="Precomputed kernels"):
        GridSearchCV(SVC(kernel="precomputed"), {"C": CS}).fit(product(X, X).tolist(), Y)


def test_nu_without_a_margin_is_left_to_fit():
    """Every direction is optimal then: the answer has to be the one that a refit finds."""
    ours, theirs = searches("nu", param_grid={"nu": [0.02, 0.5], "kernel": ["linear"]}, cv=KFold(2))
    assert ours.certificates_[0] == [None, None] and None not in ours.certificates_[1]
    np.testing.assert_array_equal(ours.cv_results_["mean_test_score"][0], theirs.cv_results_["mean_test_score"][0])


def test_linear_machines_of_many_samples_are_left_to_fit(monkeypatch):
    monkeypatch.setattr("widemargin.model_selection.cells.FEWEST", N)
    search = GridSearchCV(SVC(kernel="linear"), {"C": CS}, cv=KFold(3)).fit(X, Y)
    assert all(certificate is None for row in search.certificates_ for certificate in row)


@pytest.fixture
def threads(monkeypatch):
    """The number of threads of every family."""
    seen = []
    plain = family.Family.train

    def train(self, *arguments):
        seen.append(self.n_threads)
        return plain(self, *arguments)

    monkeypatch.setattr("widemargin.parallel.tiles._cores_of_machine", lambda: 8)
    monkeypatch.setattr(family.Family, "train", train)
    return seen


@pytest.mark.parametrize(
    ("of_search", "of_machine", "configuration", "expected"),
    [
        (None, None, {}, 8),
        (None, 3, {}, 3),
        (2, None, {}, 2),
        (2, 3, {}, 2),
        (None, 3, {"n_jobs": 1}, 1),
        (None, None, {"backend": "threading", "n_jobs": 2}, 2),
        (None, None, {"backend": "sequential"}, 1),
    ],
)
def test_threads_of_a_family(of_search, of_machine, configuration, expected, threads, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with joblib.parallel_config(**configuration):
        GridSearchCV(SVC(n_jobs=of_machine), {"C": CS}, cv=KFold(3), n_jobs=of_search).fit(X, Y)
    assert threads == [expected]


def test_workers_in_other_processes_get_a_gamma_each(threads):
    """Families are trained in the workers, not here, and come back with their certificates."""
    here = GridSearchCV(SVC(), {"C": CS, "gamma": ["scale", 0.3]}, cv=KFold(3)).fit(X, Y)
    threads.clear()
    with joblib.parallel_config(backend="loky", n_jobs=2):
        there = GridSearchCV(SVC(), {"C": [*CS, -1.0], "gamma": ["scale", 0.3]}, cv=KFold(3), error_score=0.0)
        with pytest.warns(FitFailedWarning):
            there.fit(X, Y)
    assert threads == []
    found = [[certificate is not None for certificate in row] for row in there.certificates_]
    assert found == [[True] * 3] * 6 + [[False] * 3] * 2
    np.testing.assert_array_equal(there.cv_results_["mean_test_score"][:6], here.cv_results_["mean_test_score"])


def test_a_search_can_be_pickled_and_holds_no_matrix():
    ours, theirs = searches("gamma per fold")
    state = {name: value for name, value in vars(ours).items() if name != "certificates_"}
    assert len(pickle.dumps(state)) < 1.1 * len(pickle.dumps(theirs)) + 500
    assert pickle.loads(pickle.dumps(ours)).certificates_[0][0].holds
