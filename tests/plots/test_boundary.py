"""The boundary picture: what is drawn is what the model says, and unsuitable input is refused with a sentence."""

import builtins

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, load_wine, make_blobs, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM
from sklearn.tree import DecisionTreeClassifier

import widemargin
from widemargin.plots import BoundaryDisplay, plot_boundary
from widemargin.plots.evaluation import resolution_for


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def ringed(ax, name):
    """Points drawn with a given legend name."""
    return next(np.asarray(c.get_offsets()) for c in ax.collections if c.get_label() == name)


def level_lines(ax):
    """Levels of the contour lines and the points on them, as matplotlib holds them."""
    lines = {}
    for drawn in ax.collections:
        if hasattr(drawn, "levels"):
            for level, path in zip(drawn.levels, drawn.get_paths()):
                lines[float(level)] = path.vertices
    return lines


def test_lines_lie_where_the_decision_function_says(moons):
    X, y = moons
    model = SVC(C=4.0).fit(X, y)
    lines = level_lines(plot_boundary(model, X, y))
    assert sorted(lines) == [-1.0, 0.0, 1.0]
    for level, vertices in lines.items():
        np.testing.assert_allclose(model.decision_function(vertices), level, atol=5e-3)


def test_free_and_bounded_support_vectors_are_told_apart(moons):
    X, y = moons
    model = SVC(C=4.0, tol=1e-5).fit(X, y)
    ax = plot_boundary(model, X, y)
    at_bound = np.abs(model.dual_coef_[0]) >= 4.0
    np.testing.assert_array_equal(ringed(ax, "support vector at its bound"), model.support_vectors_[at_bound])
    np.testing.assert_array_equal(ringed(ax, "support vector on the margin (free)"), model.support_vectors_[~at_bound])


def test_string_classes_many_classes_and_a_given_axis():
    X, k = make_blobs(90, centers=3, random_state=0)
    y = np.array(["ash", "elm", "oak"])[k]
    ax = plt.subplots()[1]
    assert plot_boundary(SVC().fit(X, y), X, y, ax=ax) is ax
    assert legend(ax)[:3] == ["class ash", "class elm", "class oak"]
    np.testing.assert_array_equal(ringed(ax, "class elm"), X[y == "elm"])


def test_nu_and_one_class_machines(moons):
    X, y = moons
    assert "margins, f = ±1" in legend(plot_boundary(NuSVC(nu=0.3).fit(X, y), X, y))
    one = OneClassSVM(nu=0.2).fit(X)
    lines = level_lines(plot_boundary(one, X))
    assert list(lines) == [0.0]
    np.testing.assert_allclose(one.decision_function(lines[0.0]), 0.0, atol=0.05)


def test_column_names_become_axis_labels(moons):
    pandas = pytest.importorskip("pandas")
    X, y = moons
    frame = pandas.DataFrame(X, columns=["petal", "sepal"])
    ax = plot_boundary(SVC().fit(X, y), frame, y)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("petal", "sepal")


def test_slack_is_the_way_to_the_own_margin(moons):
    X, y = moons
    model = SVC(kernel="linear", C=0.5, tol=1e-5).fit(X, y)
    ax = plt.subplots()[1]
    ax.set_aspect("equal")
    plot_boundary(model, X, y, ax=ax, slack=True)
    segments = next(part for part in ax.collections if part.get_label() == "slack").get_segments()
    sign = np.where(y == 1, 1.0, -1.0)
    slack = 1.0 - sign * model.decision_function(X)
    inside = np.flatnonzero(slack > 2e-2)
    assert len(segments) == len(inside)
    starts = np.array([segment[0] for segment in segments])
    assert {tuple(point) for point in starts} == {tuple(point) for point in X[inside]}
    ends = np.array([segment[1] for segment in segments])
    own = np.array([sign[np.flatnonzero((start == X).all(axis=1))[0]] for start in starts])
    np.testing.assert_allclose(model.decision_function(ends), own, atol=1e-6)
    lengths = np.linalg.norm(ends - starts, axis=1)
    expected = (1.0 - own * model.decision_function(starts)) / np.linalg.norm(model.coef_)
    within = np.all((ends > X.min(axis=0)) & (ends < X.max(axis=0)), axis=1)  # not cut off by the frame
    np.testing.assert_allclose(lengths[within], expected[within], rtol=1e-2, atol=1e-3)


def test_many_slacks_are_left_out_unless_asked_for(moons):
    X, y = moons
    model = SVC(C=0.2).fit(X, y)
    assert "slack" not in legend(plot_boundary(model, X, y))
    assert "slack" in legend(plot_boundary(model, X, y, slack=True))
    with pytest.raises(ValueError, match="two classes on two features only"):
        plot_boundary(OneClassSVM().fit(X), X, slack=True)


def test_a_section_along_two_of_four_features():
    X, y = load_iris(return_X_y=True)
    model = widemargin.SVC(C=10.0).fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y, features=(2, 3), resolution=40)
    lifted = np.tile(np.median(X, axis=0), (40, 1))
    lifted[:, 2], lifted[:, 3] = display.xs, display.ys[7]
    np.testing.assert_array_equal(display.values[7], model.predict(lifted))
    np.testing.assert_array_equal(display.points, X[:, 2:])
    np.testing.assert_array_equal(display.support, model.support_vectors_[:, 2:])
    assert display.plot().ax_.get_title(loc="left") == "section: 2 other features at the medians"


@pytest.mark.parametrize("features", [(0, 2), "pca"])
def test_support_vectors_of_a_pipeline_are_where_the_samples_are(features):
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(StandardScaler(), SVC(C=10.0)).fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y, features=features, resolution=30)
    np.testing.assert_allclose(display.support, display.points[model[-1].support_])
    elsewhere = BoundaryDisplay.from_estimator(model, X[::2], y[::2], features=features, resolution=30)
    assert len(elsewhere.support) == 0  # their places in the raw features are not known


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_models_fitted_on_frames_are_asked_with_the_same_names(library, moons):
    frames = pytest.importorskip(library)
    X, y = moons
    frame = frames.DataFrame({"petal": X[:, 0], "sepal": X[:, 1]})
    model = make_pipeline(StandardScaler(), widemargin.SVC()).fit(frame, y)
    named = BoundaryDisplay.from_estimator(model, frame, y, resolution=30)  # warnings are errors
    plain = make_pipeline(StandardScaler(), widemargin.SVC()).fit(X, y)
    np.testing.assert_allclose(named.values, BoundaryDisplay.from_estimator(plain, X, y, resolution=30).values)
    assert named.plane.names == ("petal", "sepal")


def test_sparse_data_weights_and_machines_without_support_vectors(moons):
    X, y = moons
    model = widemargin.SVC().fit(sp.csr_matrix(X), y)
    sparse = BoundaryDisplay.from_estimator(model, sp.csr_matrix(X), y, resolution=30)
    np.testing.assert_allclose(sparse.values, model.decision_function(_grid_of(sparse)).reshape(30, 30))
    assert len(sparse.support) == len(model.support_)
    other = BoundaryDisplay.from_estimator(LogisticRegression().fit(X, y), X, y, resolution=30).plot()
    assert len(other.support) == 0 and other.slack_from is None
    assert legend(other.ax_)[:2] == ["class 0", "class 1"]
    tree = BoundaryDisplay.from_estimator(DecisionTreeClassifier().fit(X, y), X, y, resolution=30)
    assert tree.kind == "regions" and set(np.unique(tree.values)) == {0, 1}  # it has no decision function
    weight = np.where(y == 1, 5.0, 0.2)
    heavy = SVC(C=1.0, tol=1e-5).fit(X, y, sample_weight=weight)
    bounded = BoundaryDisplay.from_estimator(heavy, X, y, resolution=30).bounded
    exact = np.abs(heavy.dual_coef_[0]) >= weight[heavy.support_] * (1.0 - 1e-9)
    clear = np.abs(1.0 - np.abs(heavy.decision_function(heavy.support_vectors_))) > 0.05
    np.testing.assert_array_equal(bounded[clear | ~exact], exact[clear | ~exact])


def _grid_of(display):
    return np.column_stack([axis.ravel() for axis in np.meshgrid(display.xs, display.ys)])


def test_machines_with_many_support_vectors_get_a_coarser_grid(rng):
    X, y = rng.normal(size=(30, 2)), np.tile([0, 1], 15)
    model = SVC().fit(X, y)
    assert len(BoundaryDisplay.from_estimator(model, X, y).xs) == 300
    model.support_ = np.zeros(20_000, np.int32)
    assert resolution_for(model) == 100


def test_a_machine_of_one_opinion_is_drawn_without_a_boundary(moons):
    X, _ = moons
    y = np.r_[np.zeros(len(X) - 1, int), 1]
    ax = plot_boundary(SVC(C=1e-4).fit(X, y), X, y)  # matplotlib warns of levels that do not occur
    assert "boundary, f = 0" not in legend(ax)


def test_many_support_vectors_are_counted_instead_of_ringed(rng):
    X, y = rng.normal(size=(400, 2)), np.tile([-1.0, 1.0], 200)
    model = widemargin.SVC().fit(X, y)
    assert len(model.support_) > 250
    ax = plot_boundary(model, X, y, resolution=40)
    assert ax.get_title(loc="left") == f"{len(model.support_)} support vectors, not ringed"
    assert legend(ax)[:3] == ["class -1", "class 1", "boundary, f = 0"]
    ringed_all = plot_boundary(model, X, y, resolution=40, rings=True)
    assert len(ringed(ringed_all, "support vector at its bound")) > 200 and not ringed_all.get_title(loc="left")
    assert "support vector at its bound" not in legend(plot_boundary(model, X, y, resolution=40, rings=False))


def test_contours_and_more_classes_than_colours():
    X, y = make_blobs(200, centers=10, random_state=0)
    ax = plot_boundary(widemargin.SVC().fit(X, y), X, y, resolution=60)
    looks = {(part.get_facecolor().tobytes(), part.get_paths()[0].vertices.tobytes()) for part in ax.collections
             if str(part.get_label()).startswith("class")}  # fmt: skip
    assert len(looks) == 10
    two = y % 2
    lines = level_lines(plot_boundary(widemargin.SVC().fit(X, two), X, two, contours=True, resolution=60))
    assert len(lines) > 10 and {-1.0, 0.0, 1.0} <= set(lines)


def test_unsuitable_input_is_refused_with_a_sentence(moons):
    X, y = moons
    with pytest.raises(ValueError, match="two features; X has 3. Choose features"):
        plot_boundary(SVC().fit(np.c_[X, y], y), np.c_[X, y], y)
    with pytest.raises(ValueError, match="SVR is neither"):
        plot_boundary(SVR().fit(X, y), X, y)
    with pytest.raises(ValueError, match="knows no features to draw"):
        plot_boundary(SVC(kernel="precomputed").fit(X @ X.T, y), X @ X.T, y, features="pca")
    with pytest.raises(ValueError, match="needs y"):
        plot_boundary(SVC().fit(X, y), X)
    with pytest.raises(ValueError, match="classes the model does not know; it was fitted on 0, 1"):
        plot_boundary(SVC().fit(X, y), X, y + 1)
    with pytest.raises(ValueError, match="X has 90 samples but y has 89"):
        plot_boundary(SVC().fit(X, y), X, y[1:])


def test_missing_matplotlib_names_the_extra(moons, monkeypatch):
    X, y = moons
    model = SVC().fit(X, y)
    real_import = builtins.__import__

    def without_matplotlib(name, *args, **kwargs):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    with pytest.raises(ImportError, match=r"pip install 'widemargin\[plots\]'"):
        plot_boundary(model, X, y)


def test_legends_of_subplots_cover_no_other_axes():
    X, y = make_moons(60, noise=0.2, random_state=0)
    model = SVC().fit(X, y)
    figure, axes = plt.subplots(2, 2, figsize=(9, 7))
    for ax in axes.flat:
        plot_boundary(model, X, y, ax)
    figure.canvas.draw()
    legends = [ax.get_legend().get_window_extent() for ax in axes.flat]
    for k, legend in enumerate(legends):
        others = [ax.get_tightbbox() for j, ax in enumerate(axes.flat) if j != k]
        assert not any(legend.overlaps(other) for other in others)
        assert figure.bbox.x0 <= legend.x0 and legend.x1 <= figure.bbox.x1
    plt.close(figure)


def test_a_dense_cloud_is_thinned_and_the_picture_says_so():
    X, y = make_moons(9000, noise=0.2, random_state=0)
    ax = plot_boundary(SVC().fit(X[:500], y[:500]), X, y)
    drawn = sum(len(cloud.get_offsets()) for cloud in ax.collections if cloud.get_label().startswith("class"))
    assert 3800 < drawn < 4200
    assert "about 4,000 of 9,000 samples drawn" in ax.get_title(loc="left")


def test_a_plane_that_shows_little_of_the_model_says_so():
    X, y = load_wine(return_X_y=True)
    raw, scaled = SVC(C=100).fit(X, y), make_pipeline(StandardScaler(), SVC(C=100)).fit(X, y)
    shown = {name: BoundaryDisplay.from_estimator(model, X, y, features="pca", resolution=50)
             for name, model in (("raw", raw), ("scaled", scaled))}  # fmt: skip
    plane = shown["raw"].plane
    seen = raw.predict(plane.lift(plane.project(X)))
    assert shown["raw"].agreement == np.mean(seen == raw.predict(X))
    assert "the model puts 26% of the samples elsewhere" in shown["raw"].plot().ax_.get_title(loc="left").replace(
        "\n", " "
    )
    assert shown["scaled"].caution == ""
