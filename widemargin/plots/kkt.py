"""The optimality conditions as a picture: the multiplier of every sample against its position.

At the optimum all samples lie on one line with corners (multipliers.py): flat at zero where a sample is classified
beyond the margin, vertical on the margin, flat at C inside it. What lies off the line is what the solver left undone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin.linalg.arrays import Vector
from widemargin.plots.display import Display
from widemargin.plots.multipliers import Conditions, conditions_of
from widemargin.plots.palette import Axes
from widemargin.plots.reading import with_room

AXES = {
    "classifier": ("y f(x)", "multiplier α"),
    "one class": ("f(x)", "multiplier α"),
    "regressor": ("y − f(x)", "multiplier α − α*"),
}


@dataclass(eq=False, repr=False)
class KKTDisplay(Display):
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

    conditions: Conditions

    def __post_init__(self) -> None:
        curvature, bound = self.conditions.curvature, self.conditions.bound
        own = np.divide(1.0, curvature, out=bound.copy(), where=curvature > 0.0)
        finite = own[np.isfinite(own)]
        self.same_for_all = len(finite) == 0 or float(np.ptp(finite)) <= 1e-9 * float(finite.max())
        self.scale = np.ones(len(own)) if self.same_for_all else own

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any = None, *, sample_weight: Any = None) -> KKTDisplay:
        """Read the multipliers of a fitted model.

        Parameters
        ----------
        model : fitted SVC, NuSVC, SVR, NuSVR or OneClassSVM, of widemargin or scikit-learn, or a pipeline ending in one
        X, y, sample_weight : the data it was fitted on
        """
        return cls(conditions_of(model, X, y, sample_weight))

    def plot(self, ax: Axes | None = None, *, legend: bool = True) -> KKTDisplay:
        """Draw, on the given Axes or on a new figure."""
        ax, theme = self._begin(ax, (7.6, 4.8))
        found = self.conditions
        points = np.column_stack([found.position, found.multiplier / self.scale])
        ax.plot(*self.ideal(), color=theme.tint(theme.colour(4), 0.6), linewidth=7.0, label="where the optimum lies",
                zorder=1, solid_joinstyle="miter", solid_capstyle="butt")  # fmt: skip
        states = {
            "no support vector": (~found.support, 2, "o"),
            "free": (found.support & ~found.at_bound, 1, "D"),
            "at its bound": (found.support & found.at_bound, 0, "s"),
        }
        for name, (chosen, k, marker) in states.items():
            if chosen.any():
                label = f"{name}: {int(chosen.sum()):,}"
                self._samples(points[chosen], label, k, marker, s=22.0, linewidths=0.4, clip_on=False)
        position, multiplier = AXES[found.kind]
        ax.set(xlabel=position, ylabel=multiplier if self.same_for_all else f"{multiplier}, as a share of C")
        ax.set_xlim(*self._ends())
        worst = float(found.violation.max(initial=0.0))
        return self._finish(f"largest violation {worst:.1e}", legend=legend, ncols=4)

    def ideal(self) -> tuple[Vector, Vector]:
        """The line with corners on which every sample lies at the optimum."""
        found = self.conditions
        left, right = self._ends()
        top = float(np.max(found.bound / self.scale))

        def arm(corner: float, end: float) -> list[tuple[float, float]]:
            """From zero at a corner to the end of the picture, on the side on which multipliers grow."""
            if found.curvature.any():  # alpha = C (1 - u), and likewise outside the tube
                return [(corner, 0.0), (end, abs(end - corner) / float(np.median(found.curvature * self.scale)))]
            if np.isfinite(top):
                return [(corner, 0.0), (corner, top), (end, top)]
            highest = 1.08 * float(np.abs(found.multiplier).max(initial=0.0))
            return [(corner, 0.0), (corner, highest)]  # no bound, and nothing may lie beyond the corner

        outer = arm(found.corners[0], left)[::-1]
        if found.kind == "regressor":
            line = [(position, -height) for position, height in outer] + arm(found.corners[-1], right)
        else:
            line = [*outer, (right, 0.0)]
        x, y = np.array(line).T
        return x, y

    def _ends(self) -> tuple[float, float]:
        """Return the limits of the picture: all samples and the corners, with some room."""
        return with_room([*self.conditions.position, *self.conditions.corners])


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
    return KKTDisplay.from_estimator(model, X, y, sample_weight=sample_weight).plot(ax, legend=legend).ax_
