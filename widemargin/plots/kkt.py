"""The optimality conditions as a picture: the multiplier of every sample against its position.

At the optimum all samples lie on one line with corners (multipliers.py): flat at zero where a sample is classified
beyond the margin, vertical on the margin, flat at C inside it. What lies off the line is what the solver left undone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from widemargin.plots.multipliers import Conditions, conditions_of
from widemargin.plots.palette import axes_or_new, legend_below, put_note, pyplot, theme_of, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKER_AREA = 22.0  # points^2
RASTER_FROM = 5_000  # points from which they are drawn as pixels in vector files
AXES = {
    "classifier": ("y f(x)", "multiplier α"),
    "one class": ("f(x)", "multiplier α"),
    "regressor": ("y − f(x)", "multiplier α − α*"),
}

Vector = NDArray[np.float64]


class KKTDisplay:
    """Multipliers against positions. Make one by `from_estimator`.

    Attributes
    ----------
    conditions : Conditions
    scale : array of shape (m,)
        What multipliers are divided by: one, or C_i where it differs between samples.
    ax_, figure_ : set by `plot`

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from widemargin import SVC
    >>> from widemargin.plots import KKTDisplay
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> display = KKTDisplay.from_estimator(SVC(tol=1e-4).fit(X, y), X, y).plot()
    >>> bool(display.conditions.violation.max() < 1e-4), display.ax_.get_xlabel()
    (True, 'y f(x)')
    """

    def __init__(self, conditions: Conditions) -> None:
        self.conditions = conditions
        with np.errstate(divide="ignore"):
            own = np.where(conditions.curvature > 0.0, 1.0 / conditions.curvature, conditions.bound)
        finite = own[np.isfinite(own)]
        self.same_for_all = len(finite) == 0 or float(np.ptp(finite)) <= 1e-9 * float(finite.max())
        self.scale = np.ones(len(own)) if self.same_for_all else own

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any = None, *, sample_weight: Any = None) -> KKTDisplay:
        """Read the multipliers of a fitted machine.

        Parameters
        ----------
        model : fitted SVC, NuSVC, SVR, NuSVR or OneClassSVM, of widemargin or scikit-learn, or a pipeline ending in one
        X, y, sample_weight : the data it was fitted on
        """
        return cls(conditions_of(model, X, y, sample_weight))

    def plot(self, ax: Axes | None = None, *, legend: bool = True) -> KKTDisplay:
        """Draw, on the given Axes or on a new figure."""
        self.ax_ = ax = axes_or_new(ax, (7.6, 4.8))
        self.figure_ = ax.figure
        theme, found = theme_of(ax), self.conditions
        height = found.multiplier / self.scale
        curve = self.ideal()
        ax.plot(*curve, color=theme.tint(theme.colour(4), 0.6), linewidth=7.0, label="where the optimum lies", zorder=1,
                solid_joinstyle="miter", solid_capstyle="butt")  # fmt: skip
        states = {
            "no support vector": (~found.support, 2, "o"),
            "free": (found.support & ~found.at_bound, 1, "D"),
            "at its bound": (found.support & found.at_bound, 0, "s"),
        }
        for name, (chosen, k, marker) in states.items():
            if chosen.any():
                ax.scatter(
                    found.position[chosen],
                    height[chosen],
                    s=MARKER_AREA,
                    color=theme.colour(k),
                    marker=marker,
                    edgecolors=[theme.paper],
                    linewidths=0.4,
                    label=f"{name}: {int(chosen.sum()):,}",
                    zorder=3,
                    clip_on=False,
                    rasterized=int(chosen.sum()) > RASTER_FROM,
                )
        position, multiplier = AXES[found.kind]
        ax.set(xlabel=position, ylabel=multiplier if self.same_for_all else f"{multiplier}, as a share of C")
        ax.set_xlim(*self._ends())
        worst = float(found.violation.max(initial=0.0))
        put_note(ax, f"largest violation {worst:.1e}")
        tidy(ax)
        if legend:
            legend_below(ax, ncols=4)
        return self

    def ideal(self) -> tuple[Vector, Vector]:
        """The line with corners on which every sample lies at the optimum."""
        found = self.conditions
        left, right = self._ends()
        first, last = found.corners[0], found.corners[-1]
        if found.curvature.any():  # alpha = C (1 - u), and likewise outside the tube
            steepness = 1.0 / float(np.median(found.curvature)) if self.same_for_all else 1.0
            if found.kind == "regressor":
                ends = steepness * (left - first), steepness * (right - last)
                return np.array([left, first, last, right]), np.array([ends[0], 0.0, 0.0, ends[1]])
            return np.array([left, first, right]), np.array([steepness * (first - left), 0.0, 0.0])
        bounded = bool(np.isfinite(found.bound).any())
        if bounded:
            top = float(found.bound.max()) if self.same_for_all else 1.0
        else:  # the vertical goes on for ever, and nothing may lie beyond the corner
            top = 1.08 * float(np.abs(found.multiplier).max(initial=0.0))
            left, right = (first, last) if found.kind == "regressor" else (first, right)
        if found.kind == "regressor":
            return np.array([left, first, first, last, last, right]), np.array([-top, -top, 0.0, 0.0, top, top])
        return np.array([left, first, first, right]), np.array([top, top, 0.0, 0.0])

    def _ends(self) -> tuple[float, float]:
        """From where to where the picture reaches: all samples and the corners, with some room."""
        position, corners = self.conditions.position, self.conditions.corners
        low, high = min(float(position.min()), corners[0]), max(float(position.max()), corners[-1])
        room = 0.05 * (high - low) or 1.0
        return low - room, high + room


def plot_kkt(
    model: Any, X: Any, y: Any = None, ax: Axes | None = None, *, sample_weight: Any = None, legend: bool = True
) -> Axes:
    """Draw the multiplier of every training sample against its position, with the line on which the optimum lies.

    Parameters
    ----------
    model : fitted SVC, NuSVC, SVR, NuSVR or OneClassSVM, of widemargin or of scikit-learn, or a pipeline ending in one
    X, y, sample_weight : the data it was fitted on
    ax : matplotlib Axes, optional
    legend : bool, default True

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from widemargin import SVC
    >>> from widemargin.plots import plot_kkt
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> plot_kkt(SVC(C=3.0).fit(X, y), X, y).get_ylabel()
    'multiplier α'
    """
    pyplot()
    return KKTDisplay.from_estimator(model, X, y, sample_weight=sample_weight).plot(ax, legend=legend).ax_
