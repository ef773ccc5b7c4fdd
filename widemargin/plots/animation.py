"""A fit step by step, as an animated picture: the boundary, the pair that moves, and the objective as it grows.

Each frame is a step: support vectors with areas in proportion to their multipliers, the points of the step marked, the
line on which they move with its parabola and ends L and H, and the objective so far. Matplotlib writes the file.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from widemargin.inspection.steps import Step, Steps
from widemargin.linalg.arrays import Matrix, Vector
from widemargin.plots.palette import Axes, theme_of, tidy
from widemargin.plots.reading import dense_features

GRID = 60  # points of the boundary along each axis
LARGEST_AREA, SMALLEST_AREA = 160.0, 18.0  # of a support vector, in points squared


def animate(steps: Steps, X: Any, y: Any, path: str | PathLike[str], *, most: int = 100, seconds: float = 0.4) -> None:
    """Write a GIF of a fit of two features, one frame per step.

    Parameters
    ----------
    steps : Steps
        Made by `widemargin.steps` on the same samples, two classes.
    X : array-like of shape (n_samples, 2)
    y : array-like of shape (n_samples,)
    path : GIF file to write
    most : int, default 100
        Frames at most; of more steps, the first ones and then some at equal distances are shown.
    seconds : float, default 0.4
        How long a frame is shown.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import widemargin
    >>> from sklearn.datasets import make_moons
    >>> from widemargin.plots import animate
    >>> X, y = make_moons(12, noise=0.1, random_state=0)
    >>> made = widemargin.steps(widemargin.SVC(solver="keerthi"), X, y, most=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     animate(made, X, y, pathlib.Path(folder, "smo.gif"))
    ...     print(pathlib.Path(folder, "smo.gif").read_bytes()[:6])
    b'GIF89a'
    """
    from matplotlib.animation import FuncAnimation, PillowWriter
    from matplotlib.figure import Figure

    if not (most >= 1 and 0.0 < seconds < np.inf):
        raise ValueError(f"most must be 1 or more and seconds positive; got most={most!r} and seconds={seconds!r}.")
    frames = Frames(steps, dense_features(X), np.asarray(y))
    figure = Figure(figsize=(9.0, 4.6), layout="constrained")
    film = FuncAnimation(figure, lambda number: frames.draw(figure, number), frames=shown(len(steps), most))
    film.save(str(path), writer=PillowWriter(fps=1.0 / seconds), dpi=90)  # type: ignore[arg-type]


def shown(n_steps: int, most: int) -> list[int]:
    """Numbers of the steps to show: all, or the first half of `most` and as many at equal distances up to the last."""
    if n_steps <= most:
        return list(range(n_steps))
    first = most // 2
    return [*range(first), *np.linspace(first, n_steps - 1, most - first).astype(int).tolist()]


class Frames:
    """The three parts of a frame."""

    def __init__(self, steps: Steps, X: Matrix, y: Vector) -> None:
        classes: Any = getattr(steps.model, "classes_", ())
        if len(steps) == 0 or len(classes) != 2 or X.shape[-1] != 2 or len(X) != len(steps[0].multipliers):
            raise ValueError(
                "animate draws the steps of a fit of two classes with two features, with the samples of that fit; got "
                f"{len(steps)} steps, {len(classes)} classes and samples of shape {X.shape}."
            )
        if y.shape != (len(X),) or not np.isin(y, classes).all():
            raise ValueError(f"y must be the classes of the fit, {classes[0]} and {classes[1]}, one for each sample.")
        if steps.model.kernel == "precomputed":
            raise ValueError(
                "animate needs values of the kernel between the points, which kernel='precomputed' has not."
            )
        self.steps, self.X, self.sign = steps, X, np.where(y == classes[1], 1.0, -1.0)
        lowest: Vector = X.min(axis=0)
        highest: Vector = X.max(axis=0)
        room = 0.12 * np.maximum(highest - lowest, 1e-9)
        self.sides = [np.linspace(a - r, b + r, GRID) for a, b, r in zip(lowest, highest, room)]
        places = np.stack([side.ravel() for side in np.meshgrid(*self.sides)], axis=1)
        kernel = steps.model._kernel_of_fit()
        at, own = kernel.prepare(places, np.float64), kernel.prepare(X, np.float64)
        self.K = kernel.block(at, own, np.empty((len(places), len(X))))
        self.largest = max(float(step.multipliers.max()) for step in steps)
        self.objectives = np.array([step.objective for step in steps])

    def draw(self, figure: Any, number: int) -> list[Any]:
        """Draw a step, counted from 0, in the place of what the figure shows."""
        figure.clear()
        place, step = figure.add_gridspec(2, 2, width_ratios=(1.5, 1.0)), self.steps[number]
        self.draw_plane(figure.add_subplot(place[:, 0]), step)
        self.draw_line(figure.add_subplot(place[0, 1]), step)
        self.draw_curve(figure.add_subplot(place[1, 1]), number)
        return []

    def draw_plane(self, ax: Axes, step: Step) -> None:
        """Boundary and margins, support vectors by multiplier, and the points of the step."""
        theme = theme_of(ax)
        values = (self.K @ (self.sign * step.multipliers) - step.threshold).reshape(GRID, GRID)
        levels = [level for level in (-1.0, 0.0, 1.0) if values.min() < level < values.max()]
        if levels:
            styles = ["solid" if level == 0.0 else "dashed" for level in levels]
            ax.contour(*self.sides, values, levels, colors=theme.ink, linestyles=styles, linewidths=1.3)
        area = SMALLEST_AREA + LARGEST_AREA * step.multipliers / max(self.largest, 1e-300)
        for k, sign in enumerate((-1.0, 1.0)):
            own = self.sign == sign
            for part, alpha in ((own & (step.multipliers > 0.0), 0.95), (own & (step.multipliers == 0.0), 0.4)):
                x1, x2 = self.X[part].T
                look: dict[str, Any] = {"c": theme.colour(k), "marker": theme.marker(k)}
                ax.scatter(x1, x2, s=area[part], alpha=alpha, linewidths=0, **look)
        moved = [step.first] if step.second is None else [step.first, step.second]
        x1, x2 = self.X[moved].T
        ax.scatter(x1, x2, s=330, facecolors="none", edgecolors=theme.ink, linewidths=2.0)
        for point, name in zip(moved, ("1", "2")):
            ax.annotate(name, self.X[point], xytext=(9, 9), textcoords="offset points", color=theme.ink, weight="bold")
        ax.set(title=f"step {step.number} of {len(self.steps)}", xlabel="", ylabel="")
        tidy(ax)

    def draw_line(self, ax: Axes, step: Step) -> None:
        """The objective along the line, relative to the start of the step, with L and H."""
        theme = theme_of(ax)
        start, end = step.before[0], step.after[0]
        reach = max(abs(end - start), abs(step.unclipped - start) if np.isfinite(step.unclipped) else 0.0, 1e-12)
        along = np.linspace(min(start, end) - 0.4 * reach, max(start, end) + 0.4 * reach, 80)
        top = step.unclipped if np.isfinite(step.unclipped) else end
        rate = 0.5 * step.eta
        ax.plot(along, rate * ((start - top) ** 2 - (along - top) ** 2), color=theme.colour(0))
        for end_of_line in (step.low, step.high):
            if along[0] <= end_of_line <= along[-1]:
                ax.axvline(end_of_line, color=theme.faint, linestyle="dashed")
        ax.plot([start, end], rate * ((start - top) ** 2 - (np.array([start, end]) - top) ** 2), "o", color=theme.ink)
        ax.set(xlabel="multiplier of point 1", ylabel="gain", title="clipped" if step.is_clipped else "to the top")
        tidy(ax)

    def draw_curve(self, ax: Axes, number: int) -> None:
        """The objective after every step so far."""
        theme = theme_of(ax)
        ax.plot(np.arange(1, number + 2), self.objectives[: number + 1], color=theme.colour(1))
        highest = self.objectives.max()
        ax.set(xlim=(0, len(self.steps) + 1), ylim=(min(0.0, self.objectives.min()), 1.05 * highest + 1e-12))
        ax.set(xlabel="steps", ylabel="dual objective")
        tidy(ax)
