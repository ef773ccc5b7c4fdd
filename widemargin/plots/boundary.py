"""The boundary of a classifier, with its margins and support vectors, on two features or a plane through many.

Two classes   the line f = 0, the margins f = -1 and f = +1, and a tint that deepens with |f|
many classes  the region of each class and the lines between them
one class     the line f = 0 around the region taken for normal

Every support vector is ringed: a full ring where its multiplier is free (it lies on the margin and carries the position
of the boundary), a thin one where it is at its bound C (it lies inside the margin or on the wrong side). The slack of a
sample is drawn as a line to the nearest point of its own margin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from widemargin.inspection.pipelines import unwrap
from widemargin.kernels.names import is_precomputed
from widemargin.linalg.arrays import Matrix, Vector
from widemargin.plots.display import Display
from widemargin.plots.evaluation import evaluate_on, grid_over, nearest_on, resolution_for, support_on
from widemargin.plots.multipliers import INSIDE_MARGIN, Flags
from widemargin.plots.palette import LEGIBLE, Axes, Theme
from widemargin.plots.plane import Plane, choose_plane
from widemargin.plots.reading import as_fitted, class_name, class_numbers, dense_features, drawable, kind_of

DEEPEST_TINT = 0.42  # share of the class colour where |f| is largest: points of the same colour must still stand out
REGION_TINT = 0.24  # the same where regions have one even colour
TELLING = 0.9  # share of samples in the region of their answer from which a plane shows what the model does
FEW = 1000  # samples that this share is taken of
TINT_SATURATES = 2.0  # |f| at which the tint is deepest: one margin width beyond the margin


@dataclass(eq=False, repr=False)
class BoundaryDisplay(Display):
    """The boundary picture of one model: what was evaluated, ready to be drawn on any Axes.

    Make one by `from_estimator`.

    Attributes
    ----------
    plane : Plane
        Where in feature space the picture lies.
    xs, ys : arrays of shape (resolution,)
    values : array of shape (resolution, resolution)
        f on the grid for two classes and one class, class numbers for many.
    points : array of shape (n_samples, 2)
        The samples on the plane.
    kind : "two classes", "regions" (of many) or "one class"
    labels : int array of shape (n_samples,)
    class_names : list of str
    support : array of shape (n_support, 2)
        Support vectors on the plane; empty where the model does not know them.
    bounded : bool array of shape (n_support,)
    slack_from : indices of the samples with slack, or None where it is not known
    agreement : float
        Share of the samples that lie in the region of the model's answer to them; 1 if the plane is all there is.
    ax_, figure_ : set by `plot`

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import SVC
    >>> from widemargin.plots import BoundaryDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = BoundaryDisplay.from_estimator(SVC().fit(X, y), X, y, features=(2, 3), resolution=100).plot()
    >>> display.plane.note, display.ax_.get_xlabel()
    ('section: 2 other features at the medians', 'feature 3')
    """

    plane: Plane
    xs: Vector
    ys: Vector
    values: NDArray
    kind: str
    points: Matrix
    labels: NDArray[np.int64]
    class_names: list[str]
    support: Matrix
    bounded: Flags
    slack_from: NDArray[np.int64] | None = None
    agreement: float = 1.0

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        features: Sequence[int | str] | str | None = None,
        at: Any = None,
        resolution: int | None = None,
    ) -> BoundaryDisplay:
        """Evaluate a fitted model on a plane.

        Parameters
        ----------
        model : fitted classifier or one-class SVM, or a pipeline or grid search around one
        X : array-like of shape (n_samples, n_features)
            Samples to draw, usually the training data. Column names become axis labels.
        y : array-like of shape (n_samples,), optional
            Their classes; not needed for a one-class SVM.
        features : pair of column numbers or names, or "pca"; default None
            Needed when X has more than two features: the pair to draw, or the first two principal components.
        at : array-like of shape (n_features,), default None
            Values at which the features that are not drawn are held; their medians by default.
        resolution : int, default None
            Grid points along each axis; by default 300, and fewer for models with very many support vectors.
        """
        machine = unwrap(model)[0]
        kind = kind_of(machine)
        if kind not in ("classifier", "one class"):
            raise ValueError(
                f"plot_boundary draws classifiers and one-class machines; {type(machine).__name__} is neither. "
                "plot_tube draws regression machines."
            )
        if kind == "classifier" and y is None:
            raise ValueError("plot_boundary needs y, the class of each point, to draw a classifier: pass it after X.")
        if is_precomputed(getattr(machine, "kernel", None)):
            raise ValueError(
                "A machine on a precomputed kernel knows no features to draw: plot_kkt and plot_kernel do."
            )
        model, X = drawable(model, X)
        before = unwrap(model)[1]
        samples = dense_features(X)
        given = as_fitted(model, samples, X)
        plane = choose_plane(X, features, at, model)
        points = plane.project(samples)
        labels, names = np.zeros(len(points), np.int64), ["data"]
        if kind == "classifier":
            labels = class_numbers(machine.classes_, y, len(points))
            names = [f"class {class_name(name)}" for name in machine.classes_]
        resolution = resolution or resolution_for(machine)
        grid, xs, ys = grid_over(points, resolution)
        two_sides = kind == "one class" or (len(names) == 2 and hasattr(model, "decision_function"))
        values = evaluate_on(model, plane, grid, X, two_sides).reshape(resolution, resolution)
        support, bounded = support_on(plane, machine, before, samples, given)
        slack_from = None
        if plane.whole and kind == "classifier" and two_sides and hasattr(machine, "support_"):
            position = np.where(labels == 1, 1.0, -1.0) * np.asarray(model.decision_function(given))
            slack_from = np.flatnonzero(position < 1.0 - INSIDE_MARGIN)
        drawn_as = kind if kind == "one class" else "two classes" if two_sides else "regions"
        agreement = 1.0
        if not plane.whole:
            some = np.random.default_rng(0).permutation(len(points))[:FEW]
            seen = evaluate_on(model, plane, points[some], X, two_sides)
            answers = evaluate_on(model, plane, samples[some], X, two_sides, lifted=True)
            agreement = float(np.mean((seen > 0) == (answers > 0) if two_sides else seen == answers))
        return cls(plane, xs, ys, values, drawn_as, points, labels, names, support, bounded, slack_from, agreement)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        rings: bool | None = None,
        slack: bool | None = None,
        contours: bool = False,
        legend: bool = True,
    ) -> BoundaryDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        rings : bool, default None
            Whether support vectors are ringed; by default where there are at most 250 of them.
        slack : bool, default None
            Whether samples inside the margin are tied to it; by default where there are at most 40 of them.
        contours : bool, default False
            Whether to draw further lines of constant f, as in figure 7.2 of Bishop (2006).
        legend : bool, default True
            Whether to explain the marks below the picture.
        """
        if slack and self.slack_from is None:
            raise ValueError("Slack is drawn for two classes on two features only: elsewhere a line has no length.")
        ax, theme = self._begin(ax, (7.6, 5.8))
        if self.kind == "regions":
            self._draw_regions(ax, theme)
        else:
            self._draw_two_sides(ax, theme, contours)
        if self.slack_from is not None and (len(self.slack_from) <= LEGIBLE.slacks if slack is None else slack):
            self._draw_slack(ax, self.slack_from)
        n_points = len(self.points)
        for k, name in enumerate(self.class_names):
            self._samples(self.points[self.labels == k], name, k, theme.marker(k), n_points=n_points)
        line = "boundary" if self.kind == "one class" else "margin"
        unringed = self._rings(self.support, self.bounded, line, n_points, rings)
        ax.set(xlim=self.xs[[0, -1]], ylim=self.ys[[0, -1]], xlabel=self.plane.names[0], ylabel=self.plane.names[1])
        return self._finish(self.plane.note, self.caution, self._thinned(n_points), unringed, legend=legend)

    @property
    def caution(self) -> str:
        """What to say where the plane shows little of the model; empty where it shows most of it."""
        if self.agreement >= TELLING:
            return ""
        return f"the model puts {1.0 - self.agreement:.0%} of the samples elsewhere than this plane shows"

    def _draw_two_sides(self, ax: Axes, theme: Theme, contours: bool) -> None:
        """Draw the tint by the value of f, the boundary f = 0, and the margins |f| = 1."""
        from matplotlib.colors import LinearSegmentedColormap

        values, margins = self.values, self.kind == "two classes"
        low, high = min(values.min(), -1e-9), max(values.max(), 1e-9)
        outside, inside = theme.faint, theme.colour(0)  # a one-class SVM has its data on the positive side
        if margins:
            low, high, outside, inside = -TINT_SATURATES, TINT_SATURATES, theme.colour(0), theme.colour(1)
        zero = -low / (high - low)  # the background is visible at f = 0 even if the two sides have different ranges
        deepest = [theme.tint(colour, DEEPEST_TINT) for colour in (outside, inside)]
        tints = LinearSegmentedColormap.from_list("sides", [(0.0, deepest[0]), (zero, theme.paper), (1.0, deepest[1])])
        extent = (self.xs[0], self.xs[-1], self.ys[0], self.ys[-1])
        look: dict[str, Any] = {"origin": "lower", "aspect": ax.get_aspect(), "interpolation": "bilinear"}
        ax.imshow(values, extent=extent, cmap=tints, vmin=low, vmax=high, **look)
        if contours:
            steps = np.linspace(values.min(), values.max(), 14)
            steps = steps[np.min(np.abs(steps[:, None] - [-1.0, 0.0, 1.0]), axis=1) > 0.05]
            self._line(values, steps.tolist(), "f constant", color=theme.faint, linewidth=0.6)
        self._line(values, [0.0], "boundary, f = 0", color=theme.ink, linewidth=2.0)
        if margins:
            self._line(values, [-1.0, 1.0], "margins, f = ±1", color=theme.ink, linewidth=1.1, linestyle="dashed")

    def _draw_regions(self, ax: Axes, theme: Theme) -> None:
        """One even tint for each class, and the lines between them."""
        from matplotlib.colors import ListedColormap

        n_classes = len(self.class_names)
        tints = ListedColormap([theme.tint(theme.colour(k), REGION_TINT) for k in range(n_classes)])
        ax.pcolormesh(self.xs, self.ys, self.values, cmap=tints, vmin=-0.5, vmax=n_classes - 0.5, rasterized=True)
        for k in range(n_classes):
            member = gaussian_filter((self.values == k).astype(float), 1.0, mode="nearest")  # smooths the grid's steps
            self._line(member, [0.5], None, color=theme.ink, linewidth=1.4)
        ax.plot([], [], color=theme.ink, linewidth=1.4, label="boundaries")

    def _line(self, values: Vector, levels: list[float], label: str | None, **look: Any) -> None:
        """Draw contour lines at the levels that occur; matplotlib warns about missing levels."""
        occurring = [level for level in levels if values.min() < level < values.max()]
        if occurring:
            styles: dict[str, Any] = {"linestyles": "solid"} | {f"{name}s": value for name, value in look.items()}
            self.ax_.contour(self.xs, self.ys, values, levels=occurring, **styles).set_zorder(2)
            if label is not None:
                self.ax_.plot([], [], label=label, **look)

    def _draw_slack(self, ax: Axes, inside: NDArray[np.int64]) -> None:
        """A line from each sample with slack to the point of its own margin that is nearest on the picture."""
        from contourpy import contour_generator

        spread = np.ones(2) if ax.get_aspect() == 1.0 else np.array([np.ptp(self.xs), np.ptp(self.ys)])
        contours = contour_generator(self.xs, self.ys, self.values)
        segments = []
        for side, level in ((0, -1.0), (1, 1.0)):
            margin: Any = contours.lines(level)
            own = self.points[inside[self.labels[inside] == side]] if margin else ()
            segments += [[point, nearest_on(point, margin, spread)] for point in own]
        self._slack(segments)


def plot_boundary(
    model: Any,
    X: Any,
    y: Any = None,
    ax: Axes | None = None,
    *,
    features: Sequence[int | str] | str | None = None,
    at: Any = None,
    rings: bool | None = None,
    slack: bool | None = None,
    contours: bool = False,
    resolution: int | None = None,
    legend: bool = True,
) -> Axes:
    """Draw the decision boundary, the margins and the support vectors of a fitted model.

    Parameters
    ----------
    model : fitted SVC, NuSVC or OneClassSVM, of widemargin or of scikit-learn, or a pipeline ending in one
        Other classifiers are drawn without support vectors.
    X : array-like of shape (n_samples, n_features)
        Points to draw, usually the training data. Column names become axis labels.
    y : array-like of shape (n_samples,), optional
        Their classes; not needed for a one-class SVM.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    features, at, resolution
        Which plane to draw when there are more than two features: see `BoundaryDisplay.from_estimator`.
    rings, slack, contours, legend
        What to draw: see `BoundaryDisplay.plot`.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> from widemargin.plots import plot_boundary
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> ax = plot_boundary(SVC().fit(X, y), X, y)
    >>> [label.get_text() for label in ax.get_legend().get_texts()][:2]
    ['class 0', 'class 1']
    """
    display = BoundaryDisplay.from_estimator(model, X, y, features=features, at=at, resolution=resolution)
    return display.plot(ax, rings=rings, slack=slack, contours=contours, legend=legend).ax_
