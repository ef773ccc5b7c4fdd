"""The pictures of docs/plots.md, one function each; the code on that page is the code here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import sklearn.svm
from sklearn.datasets import load_diabetes, load_iris, load_wine, make_moons
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, SVCCV, SVR, OneClassSVM
from widemargin.plots import (
    ScalingDisplay,
    plot_boundary,
    plot_convergence,
    plot_grid_search,
    plot_kernel,
    plot_kkt,
    plot_reliability,
    plot_tube,
)
from widemargin.training.trace import Trace

SCALING_SIZES = (1000, 2000, 4000, 8000)
STEPS_TO_SEE = 2_000  # samples of the convergence picture: enough that the solver takes some rounds


def moons(n_samples: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Two half circles that overlap."""
    return make_moons(n_samples, noise=0.22, random_state=3)


def boundary() -> Any:
    X, y = moons()
    return plot_boundary(SVC(C=4, gamma=1.0).fit(X, y), X, y, slack=True).figure


def dark() -> Any:
    X, y = moons()
    with plt.style.context("dark_background"):
        return plot_boundary(OneClassSVM(nu=0.2, gamma=1.0).fit(X), X).figure


def pair() -> Any:
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = SVC(C=10).fit(X, y)
    return plot_boundary(model, X, y, features=("petal length (cm)", "petal width (cm)")).figure


def pca() -> Any:
    X, y = load_wine(return_X_y=True)
    return plot_boundary(make_pipeline(StandardScaler(), SVC()).fit(X, y), X, y, features="pca").figure


def tube() -> Any:
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0.0, 6.0, 60))[:, None]
    y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=60)
    return plot_tube(SVR(C=3, epsilon=0.2, gamma=0.7).fit(X, y), X, y).figure


def many_features() -> Any:
    X, y = load_diabetes(return_X_y=True)
    return plot_tube(make_pipeline(StandardScaler(), SVR(C=50, epsilon=40)).fit(X, y), X, y).figure


def kkt() -> Any:
    X, y = moons()
    return plot_kkt(SVC(C=4, gamma=1.0).fit(X, y), X, y).figure


def convergence() -> Any:
    X, y = moons(STEPS_TO_SEE)
    model = SVC(C=10, gamma=2.0, solver=Trace().of("platt")).fit(X, y)
    return plot_convergence(model).figure


def kernel() -> Any:
    X, y = load_iris(return_X_y=True)
    return plot_kernel(SVC().fit(X, y), X, y).figure


def grid_search() -> Any:
    X, y = moons(240)
    grid = {"C": [0.1, 1, 10, 100, 1000], "gamma": [0.01, 0.1, 1, 10, 100]}
    return plot_grid_search(GridSearchCV(SVC(), grid).fit(X, y)).figure


def tuned() -> Any:
    X, y = moons(240)
    return plot_grid_search(SVCCV(random_state=0).fit(X, y)).figure


def reliability() -> Any:
    X, y = make_moons(1000, noise=0.5, random_state=3)
    return plot_reliability(SVCCV(random_state=0).fit(X, y), X, y).figure


def scaling() -> Any:
    X, y = moons(max(SCALING_SIZES))
    libraries = {"widemargin": SVC(C=10), "scikit-learn": sklearn.svm.SVC(C=10)}
    return ScalingDisplay.from_estimator(libraries, X, y, sizes=SCALING_SIZES, repeats=5).plot().figure_


PICTURES: dict[str, Callable[[], Any]] = {
    "boundary": boundary,
    "dark": dark,
    "pair": pair,
    "pca": pca,
    "tube": tube,
    "many-features": many_features,
    "kkt": kkt,
    "convergence": convergence,
    "kernel": kernel,
    "grid-search": grid_search,
    "tuned": tuned,
    "reliability": reliability,
    "scaling": scaling,
}
