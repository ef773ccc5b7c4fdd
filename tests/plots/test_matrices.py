"""Heat maps: kernel matrices and grid searches show the right number in the right cell."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as TheirSVC
from sklearn.svm import SVR as TheirSVR
from sklearn.svm import LinearSVC

from widemargin import SVC
from widemargin.kernels import Gaussian, Linear
from widemargin.plots import GridSearchDisplay, KernelMatrixDisplay, plot_grid_search, plot_kernel


@pytest.mark.parametrize("library", [SVC, TheirSVC], ids=["ours", "scikit-learn"])
def test_the_matrix_is_the_kernel_of_the_model_sorted_by_class(library, moons):
    X, y = moons
    model = make_pipeline(StandardScaler(), library(gamma=0.7)).fit(X, y)
    display = KernelMatrixDisplay.from_estimator(model, X, y).plot()
    order = np.argsort(y, kind="stable")
    Z = StandardScaler().fit_transform(X)[order]
    np.testing.assert_allclose(display.matrix, rbf_kernel(Z, gamma=0.7), atol=1e-12)
    np.testing.assert_array_equal(display.ax_.images[0].get_array(), display.matrix)
    assert display.class_starts == [0, 45]
    assert [label.get_text() for label in display.ax_.get_xticklabels()] == ["0", "1"]
    assert [line.get_ydata()[0] for line in display.ax_.lines[::2]] == [44.5]


def test_signs_set_the_scale(moons):
    X, y = moons
    ax = plot_kernel(Linear(), X - X.mean(axis=0), y)
    low, high = ax.images[0].get_clim()
    assert low == -high < 0.0
    assert plot_kernel(Gaussian(gamma=1.0), X, y).images[0].get_clim() == (0.0, 1.0)


def test_many_samples_are_thinned_and_a_regression_sorted(rng):
    X = rng.normal(size=(300, 3))
    y = X[:, 0] + 0.5
    model = TheirSVR().fit(X, y)
    display = KernelMatrixDisplay.from_estimator(model, X, y, max_samples=50).plot()
    assert display.matrix.shape == (50, 50) and np.all(np.diff(y[display.order]) > 0)
    assert display.ax_.get_title(loc="left") == "50 of 300 samples"
    assert display.ax_.get_xlabel() == "sample, sorted by target"
    assert KernelMatrixDisplay.from_estimator(model, X).plot().ax_.get_xlabel() == "sample"


def test_precomputed_and_models_without_a_kernel(moons):
    X, y = moons
    K = X @ X.T
    order = np.argsort(y, kind="stable")
    display = KernelMatrixDisplay.from_estimator(SVC(kernel="precomputed").fit(K, y), K, y)
    np.testing.assert_array_equal(display.matrix, K[np.ix_(order, order)])
    with pytest.raises(ValueError, match="must be square"):
        KernelMatrixDisplay.from_estimator(SVC(kernel="precomputed").fit(K, y), K[:, :5], y)
    with pytest.raises(ValueError, match="LinearSVC has no kernel known here"):
        plot_kernel(LinearSVC().fit(X, y), X, y)


def test_cells_of_a_grid_search_with_a_third_parameter():
    X, y = load_iris(return_X_y=True)
    pipe = make_pipeline(StandardScaler(), SVC())
    grid = {"svc__C": [100, 1], "svc__gamma": [0.01, "scale", 1.0], "svc__shrinking": [True, False]}
    search = GridSearchCV(pipe, grid, cv=2).fit(X, y)
    display = GridSearchDisplay.from_search(search).plot()
    assert display.y_values == [1, 100] and display.x_values == [0.01, 1.0, "scale"]
    results = search.cv_results_
    for score, params in zip(results["mean_test_score"], results["params"]):
        cell = display.scores[display.y_values.index(params["svc__C"]), display.x_values.index(params["svc__gamma"])]
        assert cell >= score
    assert display.scores[display.best] == search.best_score_
    written = [text.get_text() for text in display.ax_.texts]
    assert len(written) == 6 and max(map(float, written)) == pytest.approx(search.best_score_, abs=0.005)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("svc__gamma", "svc__C")


def test_failed_fits_leave_holes_and_many_cells_stay_legible():
    values = np.logspace(-4, 4, 17)
    C, gamma = (axis.ravel() for axis in np.meshgrid(values, values))
    score = -np.abs(np.log10(C) - 1.0) - np.abs(np.log10(gamma) + 2.0)
    score[0] = np.nan
    ax = plot_grid_search({"param_C": C, "param_gamma": gamma, "mean_test_score": score})
    assert ax.get_title(loc="left") == "best: C=10, gamma=0.01"
    assert not ax.texts and len(ax.get_xticks()) <= 12
    frame = ax.patches[-1]
    assert (frame.get_x() + 0.5, frame.get_y() + 0.5) == (4.0, 10.0)


@pytest.mark.parametrize(
    ("results", "options", "sentence"),
    [
        ({"param_C": [1], "mean_test_score": [0.5]}, {}, "no single parameter 'gamma'; searched were: C"),
        ({"param_C": [1], "param_gamma": [1], "mean_test_a": [1], "mean_test_b": [1]}, {}, "several scores"),
        ({"param_C": [1], "param_gamma": [1], "mean_test_score": [1]}, {"score": "auc"}, "no column 'auc'"),
        ({"param_C": [1], "param_gamma": [1], "mean_test_score": [np.nan]}, {}, "all fits of the search failed"),
        (SVC(), {}, "SVC holds no results"),
    ],
)
def test_unusable_searches(results, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        plot_grid_search(results, **options)
