"""How a solver got there: objective, gap, violation and support vectors against steps or seconds.

The upper part has a logarithmic scale: the duality gap, the largest violation of the optimality conditions with the
tolerance it has to reach, and how far the objective is above its final value. The lower part counts support vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from widemargin.plots.palette import legend_below, pyplot, theme_of, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = ("objective", "gap", "violation", "n_support", "n_free")
AGAINST = {"iterations": "steps", "seconds": "seconds", "passes": "passes"}
MARKED = 40  # records up to which each is marked by a point

Vector = NDArray[np.float64]


class ConvergenceDisplay:
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

    def __init__(self, columns: Mapping[str, Vector], tol: float | None = None) -> None:
        self.columns, self.tol = dict(columns), tol

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
        """Read the record of a machine that kept one: fitted with `trace=True`, or with `solver=Trace().of(...)`."""
        model = getattr(model, "best_estimator_", model)
        machine = model.steps[-1][1] if hasattr(model, "steps") else model
        history = getattr(machine, "history_", None)
        if history is None:
            history = getattr(getattr(machine, "solver", None), "trace", None)
        if history is None:
            raise ValueError(
                f"This {type(machine).__name__} kept no history of its fit: fit it with trace=True, or with "
                "solver=Trace().of('auto') from widemargin.monitor.history."
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
        counts = counts and "n_support" in self.columns
        upper, lower = _divide(ax, counts)
        self.axes_ = [upper] if lower is None else [upper, lower]
        self.ax_, self.figure_ = upper, upper.figure
        along = np.asarray(self.columns[x], np.float64)
        self._draw_distances(upper, along, legend)
        if lower is not None:
            self._draw_counts(lower, along, legend)
            upper.tick_params(labelbottom=False)
        last = self.axes_[-1]
        last.set_xlabel(AGAINST[x])
        last.locator_params(axis="x", nbins=6)
        if len(along) == 1:
            upper.set_title("one record only: the fit ended within its first pass", loc="right", fontsize="small")
        last.set_xlim(min(0.0, float(along.min())), float(along.max()) * 1.02 or 1.0)
        return self

    def _draw_distances(self, ax: Axes, along: Vector, legend: bool) -> None:
        """Everything that goes to zero, on a logarithmic scale."""
        theme = theme_of(ax)
        distances = {
            "largest violation": (self.columns.get("violation"), 1, "solid"),
            "relative duality gap": (self.columns.get("gap"), 0, "dashed"),
            "objective above its final value": (self._excess(), 2, "dashdot"),
        }
        marker = "." if len(along) <= MARKED else None
        for name, (values, k, style) in distances.items():
            if values is None:
                continue
            shown = np.where(np.isfinite(values) & (values > 0.0), values, np.nan)
            if np.isfinite(shown).any():
                ax.plot(along, shown, color=theme.colour(k), linestyle=style, linewidth=1.6, marker=marker, label=name)
        if self.tol is not None:
            ax.axhline(self.tol, color=theme.faint, linewidth=1.0, linestyle="dotted", label=f"tol = {self.tol:g}")
        ax.set_yscale("log")
        ax.set_ylabel("distance from the optimum")
        tidy(ax)
        if legend:
            ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False, borderaxespad=0.2)

    def _excess(self) -> Vector | None:
        """Objective above its final value; the last one or two are zero and not drawn."""
        objective = self.columns.get("objective")
        return None if objective is None else objective - objective[-1]

    def _draw_counts(self, ax: Axes, along: Vector, legend: bool) -> None:
        """Support vectors, and the free ones among them."""
        theme = theme_of(ax)
        marker = "." if len(along) <= MARKED else None
        ax.plot(along, self.columns["n_support"], color=theme.ink, linewidth=1.4, marker=marker, label="all")
        if "n_free" in self.columns:
            free = self.columns["n_free"]
            ax.plot(along, free, color=theme.colour(1), linestyle="dashed", linewidth=1.4, marker=marker, label="free")
        ax.set_ylabel("support vectors")
        ax.set_ylim(bottom=0.0)
        tidy(ax)
        if legend:
            legend_below(ax, ncols=2)


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
    """Draw how a fit went: gap, violation and objective on a logarithmic scale, and the number of support vectors.

    Parameters
    ----------
    history : fitted machine that kept a record, Trace, mapping of columns, data frame or sequence of rows
    ax : matplotlib Axes, optional
        Where to draw; its place is divided in two if support vectors are to be counted.
    x : {"iterations", "seconds", "passes"}, default "iterations"
    tol : float, optional
        Tolerance of the violation, drawn as a line; a fitted machine knows its own.
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
    pyplot()
    fitted = hasattr(history, "fit")
    if fitted:
        display = ConvergenceDisplay.from_estimator(history, problem=problem)
        display.tol = display.tol if tol is None else tol
    else:
        display = ConvergenceDisplay.from_history(history, tol=tol, problem=problem)
    return display.plot(ax, x=x, counts=counts, legend=legend).ax_


def columns_of(history: Any, problem: int | None = None) -> dict[str, Vector]:
    """The columns of a record, whichever way it is kept."""
    several = getattr(history, "records", None)  # a Trace
    if several is None and isinstance(history, Sequence) and len(history) and not isinstance(history[0], Mapping):
        several = history
    if several is not None:
        if not several:
            raise ValueError("The history is empty: give the traced solver to a machine and fit it first.")
        if problem is None:
            problem = int(np.argmax([len(_rows(record)) for record in several]))
        if not -len(several) <= problem < len(several):
            raise ValueError(f"There is no problem number {problem}: the history holds {len(several)}, counted from 0.")
        history = several[problem]
        problem = None
    columns = _as_columns(_rows(history))
    owner = columns.pop("problem", None)
    if owner is not None and len(owner):
        columns = {name: values[owner == _chosen(owner, problem)] for name, values in columns.items()}
    if not any(name in columns for name in AGAINST):
        raise ValueError(
            "A history needs iterations or seconds, and any of objective, gap, violation, n_support, n_free; this one "
            f"has {', '.join(columns) or 'nothing'}."
        )
    if min(map(len, columns.values())) == 0:
        raise ValueError("The history is empty: the solver ended before its first record.")
    return columns


def _chosen(owner: Vector, problem: int | None) -> float:
    """The problem asked for, or the one with most rows."""
    numbers, counts = np.unique(owner, return_counts=True)
    if problem is None:
        return float(numbers[np.argmax(counts)])
    if problem not in numbers:
        raise ValueError(f"There is no problem number {problem}: the history holds {len(numbers)}, counted from 0.")
    return float(problem)


def _rows(record: Any) -> Any:
    """The rows of a record of a Trace, or what was given."""
    rows = getattr(record, "rows", None)
    return rows if isinstance(rows, list) else record  # of a polars frame `rows` is a method


def _as_columns(table: Any) -> dict[str, Vector]:
    """Columns from rows, from a mapping, or from a data frame."""
    names = ("problem", *AGAINST, *COLUMNS)
    if isinstance(table, Mapping) or hasattr(table, "columns"):
        return {name: np.asarray(table[name], np.float64) for name in names if name in getattr(table, "columns", table)}
    first = table[0] if len(table) else dict.fromkeys(names)
    return {name: np.array([row[name] for row in table], np.float64) for name in names if name in first}


def _divide(ax: Axes | None, counts: bool) -> tuple[Axes, Axes | None]:
    """The Axes to draw on: new ones, the given one, or two in its place."""
    plt = pyplot()
    heights = {"height_ratios": (2.2, 1.0)}
    if ax is None:
        new = plt.figure(figsize=(7.6, 5.6 if counts else 4.2), layout="constrained")
        if not counts:
            return new.subplots(), None
        upper, lower = new.subplots(2, 1, sharex=True, gridspec_kw=heights)
        return upper, lower
    place = ax.get_subplotspec()
    if not counts or place is None:
        return ax, None
    figure: Any = ax.get_figure(root=True)
    parts = place.subgridspec(2, 1, **heights)
    ax.set_subplotspec(parts[0])
    return ax, figure.add_subplot(parts[1], sharex=ax)
