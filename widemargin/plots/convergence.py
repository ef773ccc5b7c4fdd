"""Convergence of a solver: objective, gap, violation and support vectors against steps or seconds.

The upper part has a logarithmic scale: the duality gap, the largest violation of the optimality conditions with the
tolerance it has to reach, and how far the objective is above its final value. The lower part counts support vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin.inspection.pipelines import unwrap
from widemargin.linalg.arrays import Vector
from widemargin.plots.display import Display
from widemargin.plots.palette import LEGIBLE, Axes, legend_below, theme_of, tidy

DISTANCES = {  # from the optimum: label, number of the colour and style of the line
    "violation": ("largest violation", 1, "solid"),
    "gap": ("relative duality gap", 0, "dashed"),
    "objective": ("objective above its final value", 2, "dashdot"),
}
AGAINST = {"iterations": "steps", "seconds": "seconds", "passes": "passes"}


@dataclass(eq=False, repr=False)
class ConvergenceDisplay(Display):
    """The record of a fit. Make one by `from_history` or `from_estimator`.

    Attributes
    ----------
    columns : dict of arrays
        "iterations", "seconds", "objective", "gap", "violation", "n_support", "n_free", as far as they were recorded.
    tol : float or None
        The tolerance of the violation.
    axes_ : the two Axes, upper and lower; ax_ : the upper one; figure_ : set by `plot`

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from widemargin import SVC
    >>> from widemargin.plots import ConvergenceDisplay
    >>> from widemargin.training.trace import Trace
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> trace = Trace()
    >>> machine = SVC(solver=trace.of("platt")).fit(X, y)
    >>> display = ConvergenceDisplay.from_history(trace).plot()
    >>> display.ax_.get_yscale(), bool(display.columns["violation"][-1] < 1e-3)
    ('log', True)
    """

    columns: dict[str, Vector]
    tol: float | None = None

    @classmethod
    def from_history(cls, history: Any, *, tol: float | None = None, problem: int | None = None) -> ConvergenceDisplay:
        """Read a record.

        Parameters
        ----------
        history : Trace, mapping of columns, data frame, or sequence of rows (mappings)
            With several problems (one for each pair of classes): a Trace, a sequence with one record for each, or a
            column "problem" that tells them apart.
        tol : float, optional
            Tolerance of the violation, drawn as a line.
        problem : int, default None
            Which of several problems; the one with the longest record by default.
        """
        return cls(columns_of(history, problem), tol)

    @classmethod
    def from_estimator(cls, model: Any, *, problem: int | None = None) -> ConvergenceDisplay:
        """Read the record of a model that kept one: fitted with `trace=True`, or with `solver=Trace().of(...)`."""
        machine, _ = unwrap(model)
        traced = getattr(getattr(machine, "solver", None), "trace", None)
        history = getattr(machine, "history_", traced)
        if history is None:
            raise ValueError(
                f"This {type(machine).__name__} kept no history of its fit: fit it with trace=True, or with "
                "solver=Trace().of('auto') from widemargin.training.trace."
            )
        return cls.from_history(history, tol=getattr(machine, "tol", None), problem=problem)

    def plot(
        self, ax: Axes | None = None, *, x: str = "iterations", counts: bool = True, legend: bool = True
    ) -> ConvergenceDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; its place is divided in two if support vectors are to be counted.
        x : {"iterations", "seconds", "passes"}, default "iterations"
        counts : bool, default True
            Whether to add the lower part with the number of support vectors.
        legend : bool, default True
        """
        if x not in AGAINST or x not in self.columns:
            recorded = [name for name in AGAINST if name in self.columns]
            raise ValueError(f"x must be one of the recorded {', '.join(recorded)}; got {x!r}.")
        along = np.asarray(self.columns[x], np.float64)
        counts = counts and "n_support" in self.columns
        upper, _ = self._begin(ax, (7.6, 5.6 if counts else 4.2))
        self.axes_ = _divided(upper) if counts else [upper]
        self._draw_distances(upper, along, legend)
        for lower in self.axes_[1:]:
            self._draw_counts(lower, along, legend)
            upper.tick_params(labelbottom=False)
        if len(along) == 1:
            upper.set_title("one record only: the fit ended within its first pass", loc="right", fontsize="small")
        last = self.axes_[-1]
        last.set_xlabel(AGAINST[x])
        last.locator_params(axis="x", nbins=6)
        last.set_xlim(min(0.0, float(along.min())), float(along.max()) * 1.02 or 1.0)
        return self

    def _draw_distances(self, ax: Axes, along: Vector, legend: bool) -> None:
        """Draw all quantities that go to zero, on a logarithmic scale."""
        theme = theme_of(ax)
        for name, (label, k, style) in DISTANCES.items():
            values = self.columns.get(name, np.empty(0))
            if name == "objective":
                values = values - values[-1:]  # the last one or two are zero and not drawn
            seen, known = np.isfinite(values) & (values > 0.0), ~np.isnan(values)  # not every round knows its gap
            if seen.any():
                _draw_line(ax, along[known], np.where(seen, values, np.nan)[known], label, theme.colour(k), style, 1.6)
        if self.tol is not None:
            ax.axhline(self.tol, color=theme.faint, linewidth=1.0, linestyle="dotted", label=f"tol = {self.tol:g}")
        ax.set(yscale="log", ylabel="distance from the optimum")
        tidy(ax)
        if legend:
            ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False, borderaxespad=0.2)

    def _draw_counts(self, ax: Axes, along: Vector, legend: bool) -> None:
        """Support vectors, and the free ones among them."""
        theme = theme_of(ax)
        _draw_line(ax, along, self.columns["n_support"], "all", theme.ink, "solid", 1.4)
        if "n_free" in self.columns:
            _draw_line(ax, along, self.columns["n_free"], "free", theme.colour(1), "dashed", 1.4)
        ax.set_ylabel("support vectors")
        ax.set_ylim(bottom=0.0)
        tidy(ax)
        if legend:
            legend_below(ax, ncols=2, arrange=False)  # two parts of one place, which may be too narrow for it


def plot_convergence(
    history: Any,
    ax: Axes | None = None,
    *,
    x: str = "iterations",
    tol: float | None = None,
    problem: int | None = None,
    counts: bool = True,
    legend: bool = True,
) -> Axes:
    """Draw the progress of a fit: gap, violation and objective on a logarithmic scale, and the support vectors.

    Parameters
    ----------
    history : fitted model that kept a record, Trace, mapping of columns, data frame or sequence of rows
    ax : matplotlib Axes, optional
        Where to draw; its place is divided in two if support vectors are to be counted.
    x : {"iterations", "seconds", "passes"}, default "iterations"
    tol : float, optional
        Tolerance of the violation, drawn as a line; a fitted model knows its own.
    problem : int, default None
        Which of several problems (pairs of classes); the one with the longest record by default.
    counts, legend : bool, default True

    Returns
    -------
    ax : matplotlib Axes
        The upper part.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from widemargin import SVC
    >>> from widemargin.plots import plot_convergence
    >>> from widemargin.training.trace import Trace
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> machine = SVC(solver=Trace().of("platt")).fit(X, y)
    >>> plot_convergence(machine, x="seconds").get_ylabel()
    'distance from the optimum'
    """
    if hasattr(history, "fit"):
        display = ConvergenceDisplay.from_estimator(history, problem=problem)
        display.tol = display.tol if tol is None else tol
    else:
        display = ConvergenceDisplay.from_history(history, tol=tol, problem=problem)
    return display.plot(ax, x=x, counts=counts, legend=legend).ax_


def columns_of(history: Any, problem: int | None = None) -> dict[str, Vector]:
    """Return the columns of a record in any form; of several problems the given one, or the longest."""
    problems = _problems(history)
    lengths = [min(map(len, columns.values()), default=0) for columns in problems]
    if problem is None:
        problem = int(np.argmax(lengths))
    if not -len(problems) <= problem < len(problems):
        raise ValueError(f"There is no problem number {problem}: the history holds {len(problems)}, counted from 0.")
    columns = problems[problem]
    if not any(name in columns for name in AGAINST):
        raise ValueError(
            "A history needs iterations or seconds, and any of objective, gap, violation, n_support, n_free; this one "
            f"has {', '.join(columns) or 'nothing'}."
        )
    if lengths[problem] == 0:
        raise ValueError("The history is empty: nothing was fitted, or the solver ended before its first record.")
    return columns


def _problems(history: Any) -> list[dict[str, Vector]]:
    """One table of columns per problem: from a Trace, rows, a mapping, a data frame, or a sequence of such."""
    several = getattr(history, "records", history)  # of a Trace
    if isinstance(several, Sequence) and len(several) and not isinstance(several[0], Mapping):
        return [columns for record in several for columns in _problems(getattr(record, "rows", record))]
    names = ("problem", *AGAINST, *DISTANCES, "n_support", "n_free")
    if isinstance(several, Sequence):
        several = {name: [row[name] for row in several] for name in (several[0] if several else names)}
    known = getattr(several, "columns", several)
    columns = {name: np.asarray(several[name], np.float64) for name in names if name in known}
    owner = columns.pop("problem", np.empty(0))
    if not len(owner):
        return [columns]
    return [{name: values[owner == number] for name, values in columns.items()} for number in np.unique(owner)]


def _draw_line(ax: Axes, along: Vector, values: Vector, label: str, colour: str, style: str, width: float) -> None:
    """Draw a line, with its records marked if they are few."""
    marker = "." if len(along) <= LEGIBLE.records else None
    ax.plot(along, values, color=colour, linestyle=style, linewidth=width, marker=marker, label=label)


def _divided(ax: Axes) -> list[Axes]:
    """The Axes in the upper part of its place and new ones below; alone if it has no place that can be divided."""
    place = ax.get_subplotspec()
    if place is None:
        return [ax]
    parts = place.subgridspec(2, 1, height_ratios=(2.2, 1.0))
    ax.set_subplotspec(parts[0])
    figure: Any = ax.get_figure(root=True)
    return [ax, figure.add_subplot(parts[1], sharex=ax)]
