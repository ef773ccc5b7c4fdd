"""The boundary picture: what is drawn is what the model says, and unsuitable input is refused with a sentence."""

import builtins

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend without a screen must be chosen first)

from widemargin.plots import plot_boundary  # noqa: E402


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def moons():
    return make_moons(120, noise=0.25, random_state=1)


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


def test_unsuitable_input_is_refused_with_a_sentence(moons):
    X, y = moons
    with pytest.raises(ValueError, match="two features; X has 3. Choose features"):
        plot_boundary(SVC().fit(np.c_[X, y], y), np.c_[X, y], y)
    with pytest.raises(ValueError, match="SVR is neither"):
        plot_boundary(SVR().fit(X, y), X, y)
    with pytest.raises(ValueError, match="needs y"):
        plot_boundary(SVC().fit(X, y), X)


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
