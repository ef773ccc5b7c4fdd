"""Multipliers against positions: the conditions hold for every machine of both libraries, and broken ones show.

`verify` is the independent oracle: it computes the largest violation from its own gradient.
"""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm as theirs
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import widemargin as ours
from widemargin.plots import plot_kkt
from widemargin.plots.multipliers import bounded_support, conditions_of

TOL = 1e-4
MACHINES = {
    "SVC": {"C": 2.0},
    "NuSVC": {"nu": 0.3},
    "SVR": {"C": 2.0, "epsilon": 0.15},
    "NuSVR": {"C": 2.0, "nu": 0.4},
    "OneClassSVM": {"nu": 0.25},
}


def targets(name, X, y):
    return np.sin(3.0 * X[:, 0]) + X[:, 1] if name.endswith("SVR") else y


@pytest.mark.parametrize("library", [ours, theirs], ids=["ours", "scikit-learn"])
@pytest.mark.parametrize("name", MACHINES)
def test_conditions_hold_as_the_certificate_says(library, name, moons):
    X, labels = moons
    y = targets(name, X, labels)
    model = getattr(library, name)(tol=TOL, **MACHINES[name]).fit(X, y)
    found = conditions_of(model, X, y)
    certificate = ours.verify(model, X, y)
    # a nu-classifier is divided by its margin rho, and so are its positions
    rho = model.nu * len(y) / np.abs(model.dual_coef_).sum() if name == "NuSVC" else 1.0
    assert rho * found.violation.max() <= certificate.violation * (1.0 + 1e-6) + 1e-9
    assert np.count_nonzero(found.support) == len(model.support_)
    assert np.all(np.abs(found.multiplier) <= found.bound * (1.0 + 1e-9))
    inside = found.slack > 10 * TOL
    assert inside.any() and np.all(found.at_bound[inside])
    np.testing.assert_array_equal(bounded_support(model), found.at_bound[model.support_])


@pytest.mark.parametrize("library", [ours, theirs], ids=["ours", "scikit-learn"])
def test_all_pairs_of_classes(library):
    X, y = make_blobs(90, centers=3, cluster_std=2.5, random_state=0)
    model = library.SVC(C=3.0, tol=TOL, class_weight={0: 2.0}).fit(X, y)
    found = conditions_of(model, X, y)
    assert len(found.position) == 180 and found.violation.max() <= TOL
    assert set(found.bound) == {3.0, 6.0}
    counts = np.bincount(found.sample)
    np.testing.assert_array_equal(counts, 2)  # each sample meets both other classes


def test_one_against_rest_and_squared_losses(moons):
    X, y = make_blobs(90, centers=3, cluster_std=2.5, random_state=0)
    rest = conditions_of(ours.SVC(tol=TOL, multi_class="ovr").fit(X, y), X, y)
    assert len(rest.position) == 270 and rest.violation.max() <= TOL
    X, y = moons
    squared = conditions_of(ours.SVC(C=3.0, tol=TOL, loss="squared_hinge").fit(X, y), X, y)
    assert squared.violation.max() <= TOL and not squared.at_bound.any()
    np.testing.assert_allclose(squared.multiplier, 3.0 * squared.slack, atol=1e-3)
    y = targets("SVR", X, y)
    model = ours.SVR(C=3.0, tol=TOL, epsilon=0.1, loss="squared_epsilon_insensitive").fit(X, y)
    squared = conditions_of(model, X, y)
    assert squared.violation.max() <= TOL
    np.testing.assert_allclose(np.abs(squared.multiplier), 3.0 * squared.slack, atol=1e-3)


def test_a_wrong_bias_shows_as_a_violation(moons):
    X, y = moons
    model = theirs.SVC(tol=TOL).fit(X, y)
    model._intercept_ = model._intercept_ + 0.1
    assert conditions_of(model, X, y).violation.max() == pytest.approx(0.1, abs=2 * TOL)


def test_sample_weights_scale_the_bounds(moons, rng):
    X, y = moons
    weight = rng.uniform(0.3, 3.0, len(y))
    model = ours.SVC(C=2.0, tol=TOL).fit(X, y, sample_weight=weight)
    found = conditions_of(model, X, y, weight)
    np.testing.assert_allclose(found.bound, 2.0 * weight)
    assert found.violation.max() <= TOL
    # the model alone does not know the weights; on a margin trained to 1e-4 the positions tell
    told = bounded_support(model)
    clear = found.slack[model.support_] > 0.05
    assert np.all(told[clear]) and not np.any(told[~found.at_bound[model.support_]])


def test_pipeline_precomputed_and_hard_margin(moons):
    X, y = moons
    pipe = make_pipeline(StandardScaler(), ours.SVC(tol=TOL)).fit(X, y)
    assert conditions_of(pipe, X, y).violation.max() <= TOL
    K = X @ X.T
    assert conditions_of(ours.SVC(kernel="precomputed", tol=TOL).fit(K, y), K, y).violation.max() <= TOL
    hard = ours.SVC(C=np.inf, gamma=20.0, tol=TOL).fit(X, y)
    found = conditions_of(hard, X, y)
    assert np.isinf(found.bound).all() and not found.at_bound.any() and not bounded_support(hard).any()
    ax = plot_kkt(hard, X, y)
    assert ax.get_xlim()[0] < 1.0 and ax.lines[0].get_xdata().min() == 1.0  # no line where nothing may lie


def test_sparse_data_frames_and_strings(moons):
    X, y = moons
    sparse = sp.csr_matrix(np.where(np.abs(X) < 0.2, 0.0, X))
    model = ours.SVC(tol=TOL).fit(sparse, y)
    assert conditions_of(model, sparse, y).violation.max() <= TOL
    with pytest.raises(ValueError, match="must be the 90 samples"):
        conditions_of(model, 2.0 * sparse, y)
    for library in ("pandas", "polars"):
        frame = pytest.importorskip(library).DataFrame({"a": X[:, 0], "b": X[:, 1]})
        assert conditions_of(ours.SVC(tol=TOL).fit(frame, y), frame, y).violation.max() <= TOL
    words = ["ab", "abc", "xyz", "xy", "bc", "zz"]

    def shared_letters(left, right):
        return np.array([[float(len(set(a) & set(b))) for b in right] for a in left])

    model = ours.SVC(kernel=shared_letters, tol=TOL).fit(words, [0, 0, 1, 1, 0, 1])
    assert conditions_of(model, words, [0, 0, 1, 1, 0, 1]).violation.max() <= TOL


def test_unsuitable_input(moons):
    X, y = moons
    model = ours.SVC().fit(X, y)
    with pytest.raises(ValueError, match="must be the 90 samples"):
        conditions_of(model, X[:-1], y[:-1])
    with pytest.raises(ValueError, match="must be the 90 samples"):
        conditions_of(model, X[::-1], y[::-1])
    with pytest.raises(ValueError, match="classes the model does not know"):
        conditions_of(model, X, y + 5)
    with pytest.raises(ValueError, match="keeps no multipliers"):
        conditions_of(theirs.LinearSVC().fit(X, y), X, y)
    with pytest.raises(ValueError, match="needs y"):
        conditions_of(model, X)


LINES = [
    *MACHINES.items(),
    ("SVC", {"C": 3.0, "class_weight": {0: 2.5}}),
    ("SVC", {"C": 3.0, "class_weight": {0: 2.5}, "loss": "squared_hinge"}),
    ("SVC", {"C": 3.0, "loss": "squared_hinge"}),
    ("SVC", {"C": np.inf, "gamma": 20.0}),
    ("SVR", {"C": 3.0, "loss": "squared_epsilon_insensitive"}),
]


def test_the_line_of_the_picture_passes_through_all_samples(moons):
    X, y = moons
    for name, settings in LINES:
        t = targets(name, X, y)
        model = getattr(ours, name)(tol=TOL, **settings).fit(X, t)
        ax = plot_kkt(model, X, t)
        line = np.column_stack(ax.lines[0].get_data())
        drawn = np.concatenate([np.asarray(part.get_offsets()) for part in ax.collections])
        assert len(drawn) == len(X)
        distance = np.min([distance_to(drawn, a, b) for a, b in zip(line[:-1], line[1:])], axis=0)
        assert distance.max() <= 2 * TOL


def distance_to(points, a, b):
    """Distance of points from the segment from a to b."""
    along = np.clip((points - a) @ (b - a) / max((b - a) @ (b - a), 1e-300), 0.0, 1.0)
    return np.linalg.norm(points - a - along[:, None] * (b - a), axis=1)


def test_legend_counts_the_samples(moons):
    X, y = moons
    model = ours.SVC(C=2.0).fit(X, y)
    found = conditions_of(model, X, y)
    names = [text.get_text() for text in plot_kkt(model, X, y).get_legend().get_texts()]
    assert f"no support vector: {90 - len(model.support_)}" in names
    assert f"at its bound: {np.count_nonzero(found.at_bound)}" in names
