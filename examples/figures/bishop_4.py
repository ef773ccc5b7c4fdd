"""Linear discriminants in the manner of Bishop: their geometry, and two ways to several classes.

4.1  f(x) = w'x + b: w is perpendicular to the boundary f = 0, which is -b / |w| away from the origin; the distance of x
     from the boundary is f(x) / |w|
4.2  three classes from two-class machines: one against the rest, and each pair. Where no class gets most votes, a
     region (grey) belongs to none. The library decides there by the largest f and by the sum of the decision values.

See  Straka, "SMO Algorithm" (lecture), which shows figures 4.1 and 4.2 of Bishop (2006), Pattern Recognition and
     Machine Learning.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from widemargin import SVC
from widemargin.plots.palette import theme_of

CENTRES = np.array([[-1.6, -1.0], [1.6, -1.2], [0.1, 1.6]])
SLANTS = np.radians([90.0, 215.0, 335.0])  # of the long axes of the clouds
REACH = 3.4  # half the width of the pictures of several classes
GRID = 301  # points of either axis
POINT = np.array([1.5, 3.0])  # x of figure 4.1


def separated() -> SVC:
    """A machine whose boundary does not pass through the origin."""
    X = np.array([[0.4, 0.2], [0.0, 1.3], [1.4, -0.6], [2.2, 1.6], [1.3, 2.4], [3.0, 1.2]])
    return SVC(kernel="linear", C=np.inf).fit(X, [0, 0, 0, 1, 1, 1])


def three_classes(seed: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Three long clouds, each askew to the middle, so that the lines between pairs do not meet in one point."""
    rng = np.random.default_rng(seed)
    askew = [np.array([[c, s], [-s, c]]) for c, s in ((np.cos(a), np.sin(a)) for a in SLANTS)]
    clouds = [c + (rng.normal(size=(15, 2)) * [1.0, 0.18]) @ turn for c, turn in zip(CENTRES, askew, strict=True)]
    return np.vstack(clouds), np.repeat([0, 1, 2], 15)


def votes(X: np.ndarray, y: np.ndarray, at: np.ndarray, pairs: bool) -> tuple[np.ndarray, list[np.ndarray]]:
    """The class that wins at every point, -1 where there is none, and the values f of the two-class machines."""
    count, values = np.zeros((len(at), 3)), []
    for one, other in combinations(range(3), 2) if pairs else ((k, -1) for k in range(3)):
        chosen = np.isin(y, (one, other)) if pairs else np.full(len(y), True)
        f = SVC(kernel="linear").fit(X[chosen], y[chosen] == one).decision_function(at)
        values.append(f)
        count[:, one] += f > 0
        if pairs:
            count[:, other] += f <= 0
    is_clear = count.max(axis=1) == (2 if pairs else 1)
    if not pairs:
        is_clear &= count.sum(axis=1) == 1
    return np.where(is_clear, count.argmax(axis=1), -1), values


def draw_geometry() -> Any:
    """Figure 4.1."""
    figure, ax = plt.subplots(figsize=(6.4, 5.6), layout="constrained")
    theme, machine = theme_of(ax), separated()
    w, b = np.asarray(machine.coef_)[0], float(machine.intercept_[0])
    norm = float(np.linalg.norm(w))
    unit, along = w / norm, np.array([-w[1], w[0]]) / norm
    foot = -b / norm * unit  # the point of the boundary nearest to the origin
    distance = float(machine.decision_function(POINT[None])[0]) / norm
    below = POINT - distance * unit
    ax.axline(foot, foot + along, color=theme.colour(1), linewidth=2.0)
    ax.plot(*np.transpose([(0, 0), foot]), color=theme.ink, linestyle="dotted")
    ax.plot(*np.transpose([below, POINT]), color=theme.colour(2), linewidth=1.6)
    ax.plot(*np.transpose([(0, 0), POINT]), color=theme.faint, linewidth=1.0)
    ax.scatter(*POINT, s=40, color=theme.colour(0), zorder=3)
    start = foot - 0.9 * along
    ax.annotate("", start + unit, start, arrowprops={"arrowstyle": "-|>", "color": theme.ink, "linewidth": 1.6})
    words = {"textcoords": "offset points", "fontsize": 10}
    ax.annotate("w", start + unit, xytext=(4, 4), fontstyle="italic", **words)
    ax.annotate("x", POINT, xytext=(7, 4), fontweight="bold", **words)
    ax.annotate(f"f(x) / |w| = {distance:.2f}", 0.5 * (below + POINT), xytext=(30, -14), **words)
    ax.annotate(f"-b / |w| = {-b / norm:.2f}", 0.5 * foot, xytext=(8, -12), **words)
    edge = foot - 2.2 * along
    for text, shift in (("f > 0", 0.45), ("f = 0", 0.0), ("f < 0", -0.45)):
        ax.annotate(text, edge + shift * unit, xytext=(0, 0), ha="center", va="center", **words,
                    bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 1.5})  # fmt: skip
    ax.axhline(0.0, color=theme.faint, linewidth=0.8)
    ax.axvline(0.0, color=theme.faint, linewidth=0.8)
    ax.set(xlim=(-1.0, 4.0), ylim=(-1.0, 3.6), aspect="equal", xlabel="$x_1$", ylabel="$x_2$")
    return figure


def draw_classes() -> Any:
    """Figure 4.2."""
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 5.0), layout="constrained")
    X, y = three_classes()
    line = np.linspace(-REACH, REACH, GRID)
    at = np.column_stack([each.ravel() for each in np.meshgrid(line, line)])
    for ax, pairs in zip(axes, (False, True), strict=True):
        theme = theme_of(ax)
        winner, values = votes(X, y, at, pairs)
        shades = ListedColormap(["#999999", *(theme.tint(theme.colour(k), 0.25) for k in range(3))])
        ax.pcolormesh(line, line, winner.reshape(GRID, GRID), cmap=shades, vmin=-1, vmax=2, rasterized=True)
        for f in values:
            ax.contour(line, line, f.reshape(GRID, GRID), levels=[0.0], colors=[theme.ink], linewidths=1.4)
        for k in range(3):
            own = X[y == k]
            ax.scatter(*own.T, s=26, color=theme.colour(k), marker=theme.marker(k), edgecolor="white", linewidth=0.5)
        nobody = np.mean(winner < 0)
        name = "each pair of classes" if pairs else "one class against the rest"
        ax.set_title(f"{name}: {nobody:.0%} of the plane belongs to no class", fontsize=10)
        ax.set(xticks=[], yticks=[], aspect="equal")
    return figure
