"""Exclusive or with growing overlap, with and without slack.

Four clouds around the corners of the unit square, opposite corners of one class, with standard deviations 0.1, 0.3 and
0.4 from left to right; 100 points to train on and 100 to test (small crosses). Rows: without slack, and with C = 0.1.
The book's first two rows, with the polynomial kernel (1 + x'z)^3, and its last two, with the Gaussian kernel, are a
figure each.

Without slack means the hard margin, C = infinity. Where the clouds overlap, no surface of degree 3 separates them; then
the fit says so, and what is drawn is C = 10,000, where slack is dear but allowed. The book leaves the width of the
Gaussian open; here it is exp(-4 |x - z|^2).

See  Marsland (2015), Machine Learning: An Algorithmic Perspective, 2nd edition, figure 8.8.
"""

from __future__ import annotations

import warnings
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVC
from widemargin.plots import plot_boundary
from widemargin.plots.palette import legend_entries, theme_of

SPREADS = (0.1, 0.3, 0.4)
POINTS = 100
DEAR = 1e4
POLYNOMIAL = {"kernel": "poly", "degree": 3, "gamma": 1.0, "coef0": 1.0}
GAUSSIAN = {"kernel": "rbf", "gamma": 4.0}
SLACK = {"no slack": np.inf, "C = 0.1": 0.1}


def exclusive_or(spread: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Clouds of equal size around the four corners."""
    rng = np.random.default_rng(seed)
    corners = np.tile([(0.0, 0.0), (1.0, 1.0), (0.0, 1.0), (1.0, 0.0)], (POINTS // 4, 1))
    return corners + spread * rng.normal(size=(POINTS, 2)), np.tile([0, 0, 1, 1], POINTS // 4)


def trained(settings: dict[str, Any], C: float, X: np.ndarray, y: np.ndarray) -> tuple[SVC, bool]:
    """The machine, and whether it is the one asked for: a hard margin may not exist."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine = SVC(C=C, **settings).fit(X, y)
        if machine.status_.converged:
            return machine, True
        return SVC(C=DEAR, max_iter=1_000_000, **settings).fit(X, y), False


def draw(kernel: str, settings: dict[str, Any]) -> Any:
    """Two rows of three."""
    figure, axes = plt.subplots(2, 3, figsize=(9.6, 6.6), layout="constrained")
    for column, spread in enumerate(SPREADS):
        X, y = exclusive_or(spread, seed=10 + column)
        X_test, y_test = exclusive_or(spread, seed=20 + column)
        for row, (slack, C) in enumerate(SLACK.items()):
            machine, exists = trained(settings, C, X, y)
            ax = plot_boundary(machine, X, y, ax=axes[row, column], slack=False, legend=False, resolution=200)
            theme = theme_of(ax)
            for k in (0, 1):
                own = X_test[y_test == k]
                ax.scatter(*own.T, s=14, marker="x", linewidths=0.9, color=theme.colour(k), label=f"test, class {k}")
            errors = int((machine.predict(X_test) != y_test).sum())
            slack_shown = slack if exists else "none separates: C = 10⁴"
            found = f"spread {spread}: {errors} of {POINTS} test errors"
            ax.set_title(f"{kernel}, {slack_shown}\n{found}", fontsize=9)
            ax.set(xlabel="", ylabel="")
    figure.legend(*legend_entries(axes[1, 2]), loc="outside lower center", ncols=3, frameon=False)
    return figure


def draw_polynomial() -> Any:
    """The first half of the book's figure."""
    return draw("polynomial", POLYNOMIAL)


def draw_gaussian() -> Any:
    """The second half."""
    return draw("Gaussian", GAUSSIAN)
