"""The margin pictures of the CS229 notes: confidence, the widest margin, and what one outlier does.

1  three points at different distances from a boundary: the farther, the more confident; the distance of A is the
   geometric margin y f(x) / |w|
2  the widest margin is held by three points; all other multipliers are zero
3  one outlier makes the hard margin swing
4  a finite C lets it go

See  Ng & Ma, CS229 lecture notes, part V, sections 1, 4, 6 and 8.
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from widemargin import SVC, margins
from widemargin.plots import plot_boundary
from widemargin.plots.palette import legend_entries, theme_of

OUTLIER = np.array([-0.9, 1.9])  # of the lower class, up on the left
LETTERS = {"A": (1.9, 2.6), "B": (-0.4, 2.1), "C": (1.6, -0.7)}  # points of the upper class: far, nearer, close


def points(seed: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Two clouds with a gap."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(14, 2)) * 0.7 + [1.6, 1.6], rng.normal(size=(14, 2)) * 0.7 - [1.6, 1.6]])
    return X, np.repeat([1, -1], 14)


def with_outlier() -> tuple[np.ndarray, np.ndarray]:
    """The same, and one point of the lower class on the upper side."""
    X, y = points()
    return np.vstack([X, OUTLIER]), np.append(y, -1)


def machines() -> list[tuple[str, SVC, np.ndarray, np.ndarray]]:
    """Title, machine and data of pictures 2 to 4."""
    X, y = points()
    X_out, y_out = with_outlier()
    return [
        ("widest margin", SVC(kernel="linear", C=np.inf).fit(X, y), X, y),
        ("one outlier", SVC(kernel="linear", C=np.inf).fit(X_out, y_out), X_out, y_out),
        ("one outlier, C = 0.1", SVC(kernel="linear", C=0.1).fit(X_out, y_out), X_out, y_out),
    ]


def draw_confidence(ax: Any, machine: SVC) -> None:
    """Points A, B and C with their distances from the boundary."""
    theme = theme_of(ax)
    weight, bias = np.asarray(machine.coef_)[0], float(machine.intercept_[0])
    norm = float(np.linalg.norm(weight))
    reach = np.array([-3.1, 3.2])
    ax.plot(reach, -(weight[0] * reach + bias) / weight[1], color=theme.ink, linewidth=2.0)
    for letter, place in LETTERS.items():
        point = np.array(place)
        distance = (weight @ point + bias) / norm
        foot = point - distance * weight / norm
        ax.plot(*np.transpose([point, foot]), color=theme.faint, linewidth=1.2, linestyle="dashed")
        ax.scatter(*point, s=46, color=theme.colour(1), marker="s", zorder=3)
        ax.annotate(f"{letter}: {distance:.2f}", point, xytext=(7, 5), textcoords="offset points", fontweight="bold")
    origin = np.array([-2.2, -(weight[0] * -2.2 + bias) / weight[1]])
    arrow = {"arrowstyle": "-|>", "color": theme.ink, "linewidth": 1.4}
    ax.annotate("", origin + weight / norm, origin, arrowprops=arrow)
    ax.annotate("w", origin + weight / norm, xytext=(4, 2), textcoords="offset points", fontstyle="italic")
    ax.set(xlim=(-3.1, 3.2), ylim=(-3.6, 3.7), aspect="equal")
    ax.spines[["top", "right"]].set_visible(False)


def draw() -> Any:
    """Four pictures."""
    fits = machines()
    figure, axes = plt.subplots(2, 2, figsize=(9.6, 9.0), layout="constrained")
    draw_confidence(axes[0, 0], fits[0][1])
    axes[0, 0].set_title("geometric margins of A, B and C", fontsize=10)
    for ax, (title, machine, X, y) in zip(axes.flat[1:], fits, strict=True):
        ax.set_aspect("equal")
        plot_boundary(machine, X, y, ax=ax, legend=False)
        width = 1.0 / margins(machine, X, y).weight_norm
        ax.set_title(f"{title}: 1 / |w| = {width:.2f}, {len(machine.support_)} support vectors", fontsize=10)
        ax.set(xlabel="", ylabel="")
    figure.legend(*legend_entries(axes[1, 1]), loc="outside lower center", ncols=3, frameon=False)
    return figure
