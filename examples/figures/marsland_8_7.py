"""Three kernels on two sets of points: one that a line separates, and one that needs two lines.

Rows: the data. Columns: the linear kernel, the polynomial kernel (1 + x'z)^3, the Gaussian kernel with the width of the
book's program, exp(-|x - z|^2 / 4). C = 0.1 everywhere. The book does not list its points; these have the same shape.

See  Marsland (2015), Machine Learning: An Algorithmic Perspective, 2nd edition, figure 8.7.
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from widemargin import SVC
from widemargin.plots import plot_boundary
from widemargin.plots.palette import legend_entries

C = 0.1
KERNELS = {
    "linear": {"kernel": "linear"},
    "polynomial, degree 3": {"kernel": "poly", "degree": 3, "gamma": 1.0, "coef0": 1.0},
    "Gaussian": {"kernel": "rbf", "gamma": 0.25},
}


def one_line(seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Two clouds with a gap between them."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(20, 2)) * 0.45 + [-1.1, 0.7], rng.normal(size=(20, 2)) * 0.45 + [1.1, -0.7]])
    return X, np.repeat([0, 1], 20)


def two_lines(seed: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """A band of one class between two clouds of the other."""
    rng = np.random.default_rng(seed)
    clouds = [rng.normal(size=(14, 2)) * 0.4 + centre for centre in ([-2.0, -1.6], [0.0, 0.0], [2.0, 1.6])]
    return np.vstack(clouds), np.repeat([0, 1, 0], 14)


def machines() -> list[tuple[str, SVC, np.ndarray, np.ndarray]]:
    """The six machines, row by row, with their data."""
    return [
        (name, SVC(C=C, **settings).fit(X, y), X, y)
        for X, y in (one_line(), two_lines())
        for name, settings in KERNELS.items()
    ]


def draw() -> Any:
    """Two rows of three."""
    figure, axes = plt.subplots(2, 3, figsize=(10.8, 7.2), layout="constrained")
    for ax, (name, machine, X, y) in zip(axes.flat, machines(), strict=True):
        plot_boundary(machine, X, y, ax=ax, slack=False, legend=False)
        errors = int((machine.predict(X) != y).sum())
        ax.set_title(f"{name}\n{len(machine.support_)} support vectors, {errors} errors", fontsize=10)
        ax.set(xlabel="", ylabel="")
    figure.legend(*legend_entries(axes[0, 0]), loc="outside lower center", ncols=3, frameon=False)
    return figure
