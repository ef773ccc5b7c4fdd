"""The epsilon-insensitive error, after figure 8.10 of Marsland: zero for every error below epsilon.

Its square, the other loss of SVR, and the squared error of least squares are drawn beside it.

See  Marsland (2015), Machine Learning: An Algorithmic Perspective, section 8.4.2, equation (8.30).
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from widemargin.plots.palette import theme_of

EPSILON = 0.5


def losses(error: np.ndarray) -> dict[str, np.ndarray]:
    """Each loss at the given errors t - y."""
    beyond = np.maximum(np.abs(error) - EPSILON, 0.0)
    return {"epsilon-insensitive": beyond, "squared epsilon-insensitive": beyond**2 / 2, "squared": error**2 / 2}


def draw() -> Any:
    """One picture."""
    figure, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    theme, error = theme_of(ax), np.linspace(-2.0, 2.0, 401)
    ax.axvspan(-EPSILON, EPSILON, color=theme.tint(theme.colour(0), 0.12), linewidth=0)
    for k, (name, values) in enumerate(losses(error).items()):
        style = ("solid", "dashed", "dotted")[k]
        ax.plot(error, values, color=theme.colour(k), linewidth=2.4 - 0.5 * k, linestyle=style, label=name)
    ax.set(xlabel="error t - y", ylabel="loss", xlim=(-2, 2), ylim=(-0.04, 1.6))
    ax.set_xticks([-2, -1, -EPSILON, 0, EPSILON, 1, 2], ["-2", "-1", "-$\\epsilon$", "0", "$\\epsilon$", "1", "2"])
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="upper center")
    return figure
