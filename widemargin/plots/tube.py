"""The tube of a regression machine: errors up to epsilon cost nothing, samples on its wall or outside carry the fit.

one feature     the curve f(x) with the tube f(x) +- epsilon around it
`feature=k`     the same along one of many features, the others held at their medians
many features   the targets against the predictions, with the tube around the diagonal: exact for every sample

A full ring marks a support vector on the wall of the tube (its multiplier is free), a thin one a support vector at its
bound C, outside the tube; the line from it to the wall is its slack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from widemargin.plots.multipliers import Conditions, conditions_of, is_training_data, parameters, tube_of
from widemargin.plots.palette import (
    LEGIBLE_RINGS,
    axes_or_new,
    legend_below,
    marker_size,
    put_note,
    pyplot,
    rim,
    theme_of,
    tidy,
)
from widemargin.plots.reading import as_fitted, check_length, dense_features, feature_names, kind_of, prepared, unwrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALONG = 500  # points of the curve: smooth on a screen
EDGE = 0.04  # room left around the data, as a share of their range
TUBE_TINT = 0.22  # share of the colour in the tube

Vector = NDArray[np.float64]


class TubeDisplay:
    """A regression machine with its tube, evaluated and ready to be drawn. Make one by `from_estimator`.

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

    def __init__(
        self,
        along: Vector,
        curve: Vector,
        epsilon: float,
        x: Vector,
        y: Vector,
        *,
        names: tuple[str, str],
        note: str,
        support: NDArray[np.bool_],
        bounded: NDArray[np.bool_],
    ) -> None:
        self.along, self.curve, self.epsilon, self.x, self.y = along, curve, epsilon, x, y
        self.names, self.note, self.support, self.bounded = names, note, support, bounded

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, feature: int | str | None = None) -> TubeDisplay:
        """Evaluate a fitted regression machine.

        Parameters
        ----------
        model : fitted SVR or NuSVR, of widemargin or of scikit-learn, or a pipeline ending in one
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        feature : int or str, default None
            The feature to draw along, the others at their medians. By default the only one there is; with several,
            the targets are drawn against the predictions.
        """
        machine, before = unwrap(model)
        if kind_of(machine) != "regressor":
            raise ValueError(
                f"plot_tube draws regressions, plot_boundary classifiers; {type(machine).__name__} is no regression."
            )
        samples = dense_features(X)
        given = as_fitted(model, samples, X)
        target = check_length(y, len(samples)).astype(np.float64)
        names = feature_names(X, samples.shape[1])
        number = _number_of(feature, names)
        predicted = np.asarray(model.predict(given)).ravel()
        epsilon, found = _tube(machine, model, prepared(before, given), given, target, predicted)
        note = ""
        if number is None:
            x, axis_name = predicted, "prediction f(x)"
            along = _stretch(np.concatenate([predicted, target]), 2)
            curve = along
        else:
            x, axis_name = samples[:, number], names[number]
            along = _stretch(x, ALONG)
            lifted = np.repeat(np.median(samples, axis=0)[None], ALONG, axis=0)
            lifted[:, number] = along
            curve = np.asarray(model.predict(as_fitted(model, lifted, X))).ravel()
            others = samples.shape[1] - 1
            note = f"section: {others} other feature{'s' * (others > 1)} at the medians" if others else ""
        nobody = np.zeros(len(x), bool)
        support, bounded = (nobody, nobody) if found is None else (found.support, found.support & found.at_bound)
        return cls(
            along, curve, epsilon, x, target, names=(axis_name, "target y"), note=note, support=support, bounded=bounded
        )

    def plot(self, ax: Axes | None = None, *, legend: bool = True) -> TubeDisplay:
        """Draw, on the given Axes or on a new figure."""
        self.ax_ = ax = axes_or_new(ax, (7.6, 5.4))
        self.figure_ = ax.figure
        theme = theme_of(ax)
        if np.isfinite(self.epsilon):
            low, high = self.curve - self.epsilon, self.curve + self.epsilon
            tint = theme.tint(theme.colour(0), TUBE_TINT)
            ax.fill_between(
                self.along, low, high, color=tint, linewidth=0, label=f"tube, ±{self.epsilon:.3g}", zorder=1
            )
            for wall in (low, high):
                ax.plot(self.along, wall, color=theme.ink, linewidth=1.0, linestyle="dashed", zorder=2)
        diagonal = self.names[0].startswith("prediction")
        label = "target = prediction" if diagonal else "f(x)"
        ax.plot(self.along, self.curve, color=theme.ink, linewidth=1.8, label=label, zorder=2)
        legible = int(self.support.sum()) <= LEGIBLE_RINGS
        if legible and not self.note:
            self._draw_slack(ax, theme.faint, diagonal)
        ax.scatter(
            self.x,
            self.y,
            s=marker_size(len(self.x)),
            color=theme.colour(1),
            edgecolors=[theme.paper],
            linewidths=rim(len(self.x)),
            label="samples",
            zorder=3,
        )
        rings = {
            "on the wall (free)": (self.support & ~self.bounded, 1.5, theme.ink),
            "at its bound": (self.bounded, 0.7, theme.faint),
        }
        for name, (chosen, width, colour) in rings.items():
            if legible and chosen.any():
                ax.scatter(
                    self.x[chosen],
                    self.y[chosen],
                    s=2.6 * marker_size(len(self.x)),
                    facecolors="none",
                    edgecolors=colour,
                    linewidths=width,
                    label=f"support vector {name}",
                    zorder=4,
                )
        ax.set(xlim=(self.along[0], self.along[-1]), xlabel=self.names[0], ylabel=self.names[1])
        put_note(ax, self.note, "" if legible else f"{int(self.support.sum()):,} support vectors, not ringed")
        tidy(ax)
        if legend:
            legend_below(ax)
        return self

    def _draw_slack(self, ax: Axes, colour: str, diagonal: bool) -> None:
        """A vertical line from each sample outside the tube to its wall."""
        from matplotlib.collections import LineCollection

        if not np.isfinite(self.epsilon):
            return
        centre = self.x if diagonal else np.interp(self.x, self.along, self.curve)
        outside = np.abs(self.y - centre) > self.epsilon * (1.0 + 1e-2)
        wall = centre + np.sign(self.y - centre) * self.epsilon
        segments = [[(self.x[i], self.y[i]), (self.x[i], wall[i])] for i in np.flatnonzero(outside)]
        if segments:
            ax.add_collection(LineCollection(segments, colors=colour, linewidths=0.9, label="slack", zorder=2.5))


def plot_tube(
    model: Any, X: Any, y: Any, ax: Axes | None = None, *, feature: int | str | None = None, legend: bool = True
) -> Axes:
    """Draw a regression machine with its tube, its support vectors and their slack.

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
    pyplot()
    return TubeDisplay.from_estimator(model, X, y, feature=feature).plot(ax, legend=legend).ax_


def _number_of(feature: int | str | None, names: list[str]) -> int | None:
    """Column of the feature to draw along; None means none of them."""
    if feature is None:
        return 0 if len(names) == 1 else None
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"X has no feature {feature!r}; its features are {', '.join(names[:20])}.")
        return names.index(feature)
    if not -len(names) <= feature < len(names):
        raise ValueError(f"X has no feature number {feature}: it has {len(names)}, counted from 0.")
    return int(feature) % len(names)


def _tube(
    machine: Any, model: Any, inner: Any, given: Any, target: Vector, predicted: Vector
) -> tuple[float, Conditions | None]:
    """Half-width of the tube, and the multipliers if these are the training data of a kernel machine."""
    if hasattr(machine, "support_") and hasattr(machine, "dual_coef_") and is_training_data(machine, inner):
        found = conditions_of(model, given, target)
        return found.corners[1], found
    if not {"epsilon", "nu"} & set(parameters(machine)):
        return float("nan"), None
    return tube_of(machine, target - predicted, np.ones(len(target))), None


def _stretch(x: Vector, n_points: int) -> Vector:
    """Evenly spaced positions over the data and a little beyond."""
    low, high = float(x.min()), float(x.max())
    room = EDGE * (high - low) or 1.0
    return np.linspace(low - room, high + room, n_points)
