"""The score of a grid search over two parameters, usually C and gamma, as a heat map with the best cell marked."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.plots.display import Display
from widemargin.plots.palette import LEGIBLE, Axes, is_dark


@dataclass(eq=False, repr=False)
class GridSearchDisplay(Display):
    """Scores on a grid of two parameters. Make one by `from_search`.

    Attributes
    ----------
    x_name, y_name : str
        The parameters, as `cv_results_` calls them without "param_".
    x_values, y_values : list
        Their values in increasing order.
    scores : array of shape (len(y_values), len(x_values))
        The best score over all other parameters; nan where nothing was tried or a fit failed.
    best : tuple of int
        Row and column of the best cell.
    ax_, figure_ : set by `plot`

    Examples
    --------
    >>> from widemargin.plots import GridSearchDisplay
    >>> results = {"param_C": [1, 1, 10, 10], "param_gamma": [0.1, 1.0, 0.1, 1.0],
    ...            "mean_test_score": [0.8, 0.9, 0.7, 0.6]}
    >>> display = GridSearchDisplay.from_search(results)
    >>> display.scores.tolist(), display.best
    ([[0.8, 0.9], [0.7, 0.6]], (0, 1))
    """

    x_name: str
    y_name: str
    x_values: list
    y_values: list
    scores: NDArray[np.float64]
    score_name: str

    @property
    def best(self) -> tuple[int, int]:
        """Row and column of the best cell."""
        return divmod(int(np.nanargmax(self.scores)), self.scores.shape[1])

    @classmethod
    def from_search(cls, search: Any, *, x: str = "gamma", y: str = "C", score: str | None = None) -> GridSearchDisplay:
        """Read the results of a search.

        Parameters
        ----------
        search : fitted GridSearchCV or another search of scikit-learn, its `cv_results_`, or a data frame of them
        x, y : str, default "gamma" and "C"
            Parameters along the two axes; the last part of a name is enough ("C" finds "svc__C").
        score : str, default None
            Column of the score; "mean_test_score" by default, or the only one of its kind.
        """
        results = getattr(search, "cv_results_", search)
        names = list(results.keys()) if hasattr(results, "keys") else []
        if not names:
            raise ValueError(
                f"A heat map needs a fitted GridSearchCV or its cv_results_; {type(search).__name__} holds no results."
            )
        columns = [_column(names, parameter) for parameter in (x, y)]
        score = score or _score(names)
        if score not in names:
            raise ValueError(
                f"cv_results_ has no column {score!r}; give the name of a score, such as 'mean_test_score'."
            )
        (x_values, across), (y_values, up) = (_levels(results[column]) for column in columns)
        scores = np.full((len(y_values), len(x_values)), np.nan)
        np.fmax.at(scores, (up, across), np.asarray(results[score], np.float64))
        if np.isnan(scores).all():
            raise ValueError(f"Every {score} is nan: all fits of the search failed. Look at its warnings first.")
        x_name, y_name = (column.removeprefix("param_") for column in columns)
        return cls(x_name, y_name, x_values, y_values, scores, score)

    def plot(self, ax: Axes | None = None, *, colorbar: bool = True) -> GridSearchDisplay:
        """Draw, on the given Axes or on a new figure."""
        from matplotlib.patches import Rectangle

        height, width = self.scores.shape
        ax, _ = self._begin(ax, (min(11.0, 2.4 + 0.75 * width), min(9.0, 1.8 + 0.55 * height)))
        low, high = float(np.nanmin(self.scores)), float(np.nanmax(self.scores))
        image = ax.imshow(self.scores, origin="lower", aspect="auto", cmap="cividis")
        colours = image.to_rgba(self.scores)
        digits = int(np.clip(np.ceil(-np.log10(max(high - low, 1e-12))) + 1, 2, 4))
        for cell, value in np.ndenumerate(self.scores):
            if np.isfinite(value) and self.scores.size <= LEGIBLE.written_cells:
                colour = "white" if is_dark(colours[cell]) else "black"
                weight = "bold" if cell == self.best else "normal"
                ax.text(cell[1], cell[0], f"{value:.{digits}f}", ha="center", va="center", fontsize="small",
                        color=colour, fontweight=weight)  # fmt: skip
        row, column = self.best
        look: dict[str, Any] = {"fill": False, "edgecolor": "#D55E00", "linewidth": 2.5, "zorder": 3, "clip_on": False}
        ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1.0, 1.0, **look))
        _label(ax.set_xticks, self.x_values)
        _label(ax.set_yticks, self.y_values)
        ax.set(xlabel=self.x_name, ylabel=self.y_name)
        ax.tick_params(length=0)
        chosen = f"{self.y_name}={_text(self.y_values[row])}, {self.x_name}={_text(self.x_values[column])}"
        ax.set_title(f"best: {chosen}", loc="left", fontsize="medium")
        if colorbar:
            self.figure_.colorbar(image, ax=ax, label=self.score_name.replace("_", " "))
        return self


def plot_grid_search(
    search: Any,
    ax: Axes | None = None,
    *,
    x: str = "gamma",
    y: str = "C",
    score: str | None = None,
    colorbar: bool = True,
) -> Axes:
    """Draw the scores of a grid search over two parameters as a heat map.

    Parameters
    ----------
    search : fitted GridSearchCV or another search of scikit-learn, its `cv_results_`, or a data frame of them
        Where other parameters were searched as well, each cell shows the best over them.
    ax : matplotlib Axes, optional
    x, y : str, default "gamma" and "C"
        Parameters along the two axes; the last part of a name is enough ("C" finds "svc__C").
    score : str, default None
        Column of the score; "mean_test_score" by default.
    colorbar : bool, default True

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from widemargin import SVC
    >>> from widemargin.plots import plot_grid_search
    >>> search = GridSearchCV(SVC(), {"C": [0.1, 1, 10], "gamma": [0.01, 0.1]}, cv=3).fit(*load_iris(return_X_y=True))
    >>> plot_grid_search(search).get_title(loc="left")
    'best: C=10, gamma=0.1'
    """
    return GridSearchDisplay.from_search(search, x=x, y=y, score=score).plot(ax, colorbar=colorbar).ax_


def _column(names: list[str], parameter: str) -> str:
    """The column of a parameter, found by its full name or by the last part of it."""
    exact = f"param_{parameter}"
    if exact in names:
        return exact
    ending = [name for name in names if name.startswith("param_") and name.endswith(f"__{parameter}")]
    if len(ending) == 1:
        return ending[0]
    searched = ", ".join(name.removeprefix("param_") for name in names if name.startswith("param_")) or "none"
    raise ValueError(f"The search has no single parameter {parameter!r}; searched were: {searched}. Choose x and y.")


def _score(names: list[str]) -> str:
    """Return the score column of the results, if it is unambiguous."""
    found = [name for name in names if name.startswith("mean_test_")]
    if "mean_test_score" in found or not found:
        return "mean_test_score"
    if len(found) > 1:
        raise ValueError(f"The search has several scores, {', '.join(found)}: choose one by score=.")
    return found[0]


def _levels(values: Any) -> tuple[list, list[int]]:
    """Different values, numbers in increasing order before names, and the place of each value among them."""
    given = np.asarray(values).tolist()
    levels = sorted(set(given), key=lambda value: (0, value) if isinstance(value, Real) else (1, str(value)))
    return levels, [levels.index(value) for value in given]


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, Real) else str(value)


def _label(set_ticks: Any, values: list) -> None:
    """A tick for each value, or for every second or third where they are many."""
    step = 1 + (len(values) - 1) // LEGIBLE.ticks
    places = range(0, len(values), step)
    set_ticks(list(places), [_text(values[k]) for k in places])
