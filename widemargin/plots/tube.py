"""The tube of a regression model: errors up to epsilon cost nothing, samples on its edge or outside determine the fit.

one feature     the curve f(x) with the tube f(x) +- epsilon around it
`feature=k`     the same along one of many features, the others held at their medians
many features   the targets against the predictions, with the tube around the diagonal: exact for every sample

A full ring marks a support vector on the wall of the tube (its multiplier is free), a thin one a support vector at its
bound C, outside the tube; the line from it to the wall is its slack.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin.estimators.fitted import is_training_data
from widemargin.inspection.pipelines import prepared, unwrap
from widemargin.linalg.arrays import Vector
from widemargin.plots.display import Display
from widemargin.plots.multipliers import Flags, conditions_of, has_multipliers, parameters, tube_of
from widemargin.plots.palette import LEGIBLE, Axes
from widemargin.plots.reading import (
    as_fitted,
    axis_label,
    check_length,
    column_of,
    dense_features,
    drawable,
    feature_names,
    kind_of,
    section_note,
    target_label,
    with_room,
)

ALONG = 500  # points of the curve: smooth on a screen
EDGE = 0.04  # room left around the data, as a share of their range
TUBE_TINT = 0.22  # share of the colour in the tube


@dataclass(eq=False, repr=False)
class TubeDisplay(Display):
    """A regression model with its tube, evaluated and ready to be drawn. Make one by `from_estimator`.

    Attributes
    ----------
    along, curve : arrays of shape (n_points,)
        Horizontal positions, and the centre of the tube there.
    epsilon : float
        Half-width of the tube; nan for a regression without one.
    x, y : arrays of shape (n_samples,)
        The samples; x is a feature, or the prediction.
    names : labels of the axes
    note : what was done with the other features
    support, bounded : bool arrays of shape (n_samples,)
        All False when X is not the training data.
    ax_, figure_ : set by `plot`

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVR
    >>> from widemargin.plots import TubeDisplay
    >>> X = np.linspace(0.0, 6.0, 40)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> display = TubeDisplay.from_estimator(SVR(C=10.0, epsilon=0.2).fit(X, y), X, y).plot()
    >>> display.epsilon, display.ax_.get_xlabel()
    (0.2, 'feature 1')
    """

    along: Vector
    curve: Vector
    epsilon: float
    x: Vector
    y: Vector
    names: tuple[str, str]
    note: str
    support: Flags
    bounded: Flags

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, feature: int | str | None = None) -> TubeDisplay:
        """Evaluate a fitted regression model.

        Parameters
        ----------
        model : fitted SVR or NuSVR, of widemargin or of scikit-learn, or a pipeline ending in one
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        feature : int or str, default None
            The feature to draw along, the others at their medians. By default the only one there is; with several,
            the targets are drawn against the predictions.
        """
        model, X = drawable(model, X)
        machine, before = unwrap(model)
        if kind_of(machine) != "regressor":
            raise ValueError(
                f"plot_tube draws regressions, plot_boundary classifiers; {type(machine).__name__} is no regression."
            )
        samples = dense_features(X)
        given = as_fitted(model, samples, X)
        target = check_length(y, len(samples)).astype(np.float64)
        names = feature_names(X, model)
        predicted = np.asarray(model.predict(given)).ravel()
        epsilon, support, bounded = _tube(machine, prepared(before, given), target, predicted)
        if feature is None and len(names) > 1:
            along = np.array(with_room([predicted, target], EDGE))
            labels = ("prediction f(x)", target_label(model))
            return cls(along, along, epsilon, predicted, target, labels, "", support, bounded)
        number = column_of(0 if feature is None else feature, names)
        along = np.linspace(*with_room(samples[:, number], EDGE), ALONG)
        lifted = np.repeat(np.median(samples, axis=0)[None], ALONG, axis=0)
        lifted[:, number] = along
        curve = np.asarray(model.predict(as_fitted(model, lifted, X))).ravel()
        labels, note = (axis_label(names[number], model), target_label(model)), section_note(len(names) - 1)
        return cls(along, curve, epsilon, samples[:, number], target, labels, note, support, bounded)

    def plot(self, ax: Axes | None = None, *, legend: bool = True) -> TubeDisplay:
        """Draw, on the given Axes or on a new figure."""
        ax, theme = self._begin(ax, (7.6, 5.4))
        if np.isfinite(self.epsilon):
            low, high = self.curve - self.epsilon, self.curve + self.epsilon
            tint, label = theme.tint(theme.colour(0), TUBE_TINT), f"tube, ±{self.epsilon:.3g}"
            ax.fill_between(self.along, low, high, color=tint, linewidth=0, label=label, zorder=1)
            for wall in (low, high):
                ax.plot(self.along, wall, color=theme.ink, linewidth=1.0, linestyle="dashed", zorder=2)
        label = "target = prediction" if self.along is self.curve else "f(x)"
        ax.plot(self.along, self.curve, color=theme.ink, linewidth=1.8, label=label, zorder=2)
        if self.support.sum() <= LEGIBLE.rings and not self.note:
            self._draw_slack()
        points = np.column_stack([self.x, self.y])
        self._samples(points, "samples", 1, "o")
        unringed = self._rings(points[self.support], self.bounded[self.support], "wall", len(points))
        ax.set(xlim=(self.along[0], self.along[-1]), xlabel=self.names[0], ylabel=self.names[1])
        return self._finish(self.note, self._thinned(len(points)), unringed, legend=legend)

    def _draw_slack(self) -> None:
        """A vertical line from each sample outside the tube to its wall."""
        centre = np.interp(self.x, self.along, self.curve)
        outside = np.abs(self.y - centre) > self.epsilon * (1.0 + 1e-2)
        wall = centre + np.sign(self.y - centre) * self.epsilon
        self._slack([[(x, y), (x, end)] for x, y, end in zip(self.x[outside], self.y[outside], wall[outside])])


def plot_tube(
    model: Any, X: Any, y: Any, ax: Axes | None = None, *, feature: int | str | None = None, legend: bool = True
) -> Axes:
    """Draw a regression model with its tube, its support vectors and their slack.

    Parameters
    ----------
    model : fitted SVR or NuSVR, of widemargin or of scikit-learn, or a pipeline ending in one
    X : array-like of shape (n_samples, n_features)
        The training data; on other data support vectors are not marked.
    y : array-like of shape (n_samples,)
    ax : matplotlib Axes, optional
    feature : int or str, default None
        The feature to draw along, the others at their medians. By default the only one there is; with several, the
        targets are drawn against the predictions, with the tube around the diagonal.
    legend : bool, default True

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVR
    >>> from widemargin.plots import plot_tube
    >>> X = np.linspace(0.0, 6.0, 40)[:, None]
    >>> ax = plot_tube(SVR(C=10.0, epsilon=0.2).fit(X, np.sin(X[:, 0])), X, np.sin(X[:, 0]))
    >>> ax.get_ylabel()
    'target y'
    """
    return TubeDisplay.from_estimator(model, X, y, feature=feature).plot(ax, legend=legend).ax_


def _tube(machine: Any, X: Any, target: Vector, predicted: Vector) -> tuple[float, Flags, Flags]:
    """Half-width of the tube; which samples are support vectors and which at their bound, if X is the training data."""
    if has_multipliers(machine) and is_training_data(machine, X) is not False:
        found = conditions_of(machine, X, target)
        return found.corners[1], found.support, found.support & found.at_bound
    has_tube = not parameters(machine).keys().isdisjoint(("epsilon", "nu"))
    epsilon = tube_of(machine, target - predicted, np.ones(len(target))) if has_tube else np.nan
    return epsilon, np.zeros(len(target), bool), np.zeros(len(target), bool)
