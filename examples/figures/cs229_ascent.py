"""Coordinate ascent and the step of SMO, as the CS229 notes draw them.

Left   coordinate ascent on a quadratic function of two variables from (2, -2): every step is parallel to an axis
Right  two multipliers of SMO: the box [0, C] x [0, C], the line alpha_1 y_1 + alpha_2 y_2 = zeta, its ends L and H, the
       maximum on the whole line and the one on the part inside the box

See  Ng & Ma, CS229 lecture notes, part V, sections 9.1 and 9.2; Platt (1998), figure 1.
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from widemargin.gram import FullGram
from widemargin.monitor.stopping import Stopping
from widemargin.plots.palette import theme_of
from widemargin.problems import SignedDual
from widemargin.solvers.reference import Coordinate
from widemargin.solvers.reference.pair_move import Multiplier, pair_move

HESSIAN = np.array([[1.0, 0.8], [0.8, 1.0]])  # of minus W: ellipses along the diagonal
MAXIMUM = np.array([0.2, 0.1])
START = np.array([2.0, -2.0])
STEPS = 14
C = 1.0


def path() -> np.ndarray:
    """The points that the solver visits, one per step."""
    free = np.full(2, np.inf)
    dual = SignedDual(-HESSIAN @ MAXIMUM, -free, free, start=START, n_groups=0)
    solve = Coordinate().solve
    return np.array([solve(dual, FullGram(HESSIAN), Stopping(tol=1e-9, max_iter=k)).beta for k in range(STEPS + 1)])


def pair() -> dict[str, Any]:
    """Two samples with y = (1, -1) at the current alpha = (0.35, 0.15): the ends, and the step with and without box."""
    alpha, gradient, K = np.array([0.35, 0.15]), np.array([-0.8, 0.6]), np.array([[1.0, 0.3], [0.3, 1.0]])
    eta, scale = K[0, 0] + K[1, 1] - 2 * K[0, 1], K[0, 0] + K[1, 1]

    def step(bound: float) -> np.ndarray:
        one = Multiplier(alpha[0], gradient[0], 0.0, bound, 0.0)
        two = Multiplier(-alpha[1], gradient[1], -bound, 0.0, 0.0)
        b1, b2, _ = pair_move(one, two, eta, scale)
        return np.array([b1, -b2])

    zeta = alpha[0] - alpha[1]
    ends = max(0.0, -zeta), min(C, C - zeta)
    return {"alpha": alpha, "zeta": zeta, "L": ends[0], "H": ends[1], "free": step(np.inf), "clipped": step(C)}


def draw_path(ax: Any) -> None:
    """Contours of W and the path to its maximum."""
    theme, points = theme_of(ax), path()
    line = np.linspace(-2.6, 2.6, 201)
    first, second = np.meshgrid(line, line)
    away = np.stack([first - MAXIMUM[0], second - MAXIMUM[1]])
    value = np.einsum("iab,ij,jab->ab", away, HESSIAN, away)
    levels = np.array([0.05, 0.3, 0.8, 1.6, 3.0, 5.0, 8.0])
    ax.contour(line, line, value, levels=levels, colors=[theme.faint], linewidths=0.9)
    ax.plot(*points.T, color=theme.colour(0), linewidth=1.6, marker="o", markersize=3.5)
    ax.scatter(*MAXIMUM, marker="*", s=110, color=theme.colour(1), zorder=3)
    ax.annotate("(2, -2)", START, xytext=(4, -13), textcoords="offset points")
    ax.set(xlim=(-2.6, 2.6), ylim=(-2.6, 2.6), aspect="equal", xlabel="$\\alpha_1$", ylabel="$\\alpha_2$")
    ax.set_title(f"coordinate ascent, {STEPS} steps", fontsize=10)


def draw_box(ax: Any) -> None:
    """The box, the line of the constraint and the two maxima on it."""
    theme, at = theme_of(ax), pair()
    ax.add_patch(plt.Rectangle((0, 0), C, C, facecolor=theme.tint(theme.colour(0), 0.15), edgecolor=theme.ink))
    reach = np.array([-0.25, 1.45])
    ax.plot(reach + at["zeta"], reach, color=theme.faint, linestyle="dashed")
    inside = np.array([at["L"], at["H"]])
    ax.plot(inside + at["zeta"], inside, color=theme.colour(0), linewidth=2.4)
    for name in "LH":
        ax.plot([0.0, at[name] + at["zeta"]], [at[name]] * 2, color=theme.faint, linestyle="dotted", linewidth=1.0)
        ax.annotate(f"{name} = {at[name]:.2g}", (0.0, at[name]), xytext=(-6, 0), textcoords="offset points",
                    ha="right", va="center")  # fmt: skip
    for name, text, colour, below in (
        ("alpha", "before", 2, True),
        ("free", "maximum on the line", 4, False),
        ("clipped", "clipped to H", 1, True),
    ):
        ax.scatter(*at[name], s=44, color=theme.colour(colour), zorder=3)
        ax.annotate(text, at[name], xytext=(8, -12) if below else (-8, 6), textcoords="offset points",
                    ha="left" if below else "right")  # fmt: skip
    ax.annotate("C", (0, C), xytext=(-6, 0), textcoords="offset points", ha="right", va="center")
    ax.annotate("C", (C, 0), xytext=(0, -6), textcoords="offset points", ha="center", va="top")
    ax.set(xlim=(-0.5, 1.75), ylim=(-0.45, 1.5), aspect="equal", xlabel="$\\alpha_1$", ylabel="$\\alpha_2$")
    ax.set(xticks=[], yticks=[])
    ax.set_title("a step of SMO, $y_1 \\neq y_2$", fontsize=10)


def draw() -> Any:
    """Both pictures."""
    figure, axes = plt.subplots(1, 2, figsize=(9.8, 4.8), layout="constrained")
    draw_path(axes[0])
    draw_box(axes[1])
    return figure
