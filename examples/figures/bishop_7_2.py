"""Lines of constant f of machines with a Gaussian kernel, in the manner of Bishop.

Left, after figure 7.2: two classes that a curve separates, the hard margin, lines of constant f, the boundary, the
margins and the support vectors, which are the only points that count. Right, after figure 7.4: classes that overlap, a
nu-machine with the kernel exp(-0.45 |x - z|^2) as in the book.

See  Straka, "SMO Algorithm" (lecture), which shows figures 7.2 and 7.4 of Bishop (2006), Pattern Recognition and
     Machine Learning.
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from widemargin import SVC, NuSVC
from widemargin.plots import plot_boundary
from widemargin.plots.palette import legend_entries

GAMMA_OF_BOOK = 0.45  # figure 7.4


def separable(seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """A curved band of one class around a cloud of the other."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(-0.4, 1.15, 22) * np.pi
    band = np.column_stack([np.cos(angle), np.sin(angle)]) * rng.uniform(1.45, 2.1, (22, 1))
    cloud = rng.normal(size=(20, 2)) * 0.36 + [0.05, 0.05]
    return np.vstack([band, cloud]), np.repeat([0, 1], [22, 20])


def overlapping(seed: int = 7) -> tuple[np.ndarray, np.ndarray]:
    """Two clouds that run into each other, one of them in two parts."""
    rng = np.random.default_rng(seed)
    first = np.vstack([rng.normal(size=(25, 2)) * 0.6 + [-1.0, 0.9], rng.normal(size=(20, 2)) * 0.6 + [0.9, -1.3]])
    second = rng.normal(size=(45, 2)) * [0.9, 0.6] + [0.8, 0.6]
    return np.vstack([first, second]), np.repeat([0, 1], 45)


def machines() -> list[tuple[str, Any, np.ndarray, np.ndarray]]:
    """Title, machine and data of the two pictures."""
    X, y = separable()
    X_over, y_over = overlapping()
    return [
        ("hard margin, after figure 7.2", SVC(gamma=1.0, C=np.inf).fit(X, y), X, y),
        ("nu = 0.35, after figure 7.4", NuSVC(gamma=GAMMA_OF_BOOK, nu=0.35).fit(X_over, y_over), X_over, y_over),
    ]


def draw() -> Any:
    """Two pictures side by side."""
    figure, axes = plt.subplots(1, 2, figsize=(10.4, 5.6), layout="constrained")
    for ax, (title, machine, X, y) in zip(axes, machines(), strict=True):
        plot_boundary(machine, X, y, ax=ax, contours=True, slack=False, legend=False)
        ax.set_title(f"{title}: {len(machine.support_)} of {len(X)} points count", fontsize=10)
        ax.set(xlabel="", ylabel="")
    figure.legend(*legend_entries(axes[1]), loc="outside lower center", ncols=4, frameon=False)
    return figure
