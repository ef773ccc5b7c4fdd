"""Time against size on logarithmic scales, with the exponent of the power law that fits best.

seconds = factor * n^exponent,   least squares on log seconds against log n, as Platt (1998, section 4) reports
                                 his scaling
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from timeit import timeit
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from widemargin._sklearn import num_samples, safe_indexing
from widemargin.linalg.arrays import Vector
from widemargin.plots.display import Display
from widemargin.plots.palette import LEGIBLE, Axes, tidy


class ScalingDisplay(Display):
    """Seconds against numbers of samples, of one or several machines.

    Parameters
    ----------
    timings : mapping of names to pairs (sizes, seconds)

    Attributes
    ----------
    timings : dict of names to pairs of arrays
    exponents, factors : dict of names to floats; nan with fewer than two sizes
    ax_, figure_ : set by `plot`

    Examples
    --------
    >>> from widemargin.plots import ScalingDisplay
    >>> display = ScalingDisplay({"smo": ([1000, 2000, 4000], [0.1, 0.4, 1.6])})
    >>> round(display.exponents["smo"], 6)
    2.0
    """

    def __init__(self, timings: Mapping[str, tuple[ArrayLike, ArrayLike]]) -> None:
        self.timings = {name: _checked(name, *pair) for name, pair in timings.items()}
        laws = {name: fit_power(*pair) for name, pair in self.timings.items()}
        self.exponents = {name: exponent for name, (exponent, _) in laws.items()}
        self.factors = {name: factor for name, (_, factor) in laws.items()}

    @classmethod
    def from_estimator(
        cls,
        models: Any,
        X: Any,
        y: Any = None,
        *,
        sizes: Sequence[int] | None = None,
        repeats: int = 3,
        random_state: int = 0,
    ) -> ScalingDisplay:
        """Fit on growing random parts of the data and measure.

        Parameters
        ----------
        models : estimator, or mapping of names to estimators; they are cloned
        X, y : the data
        sizes : numbers of samples, default five from a sixteenth of the data to all, doubling
        repeats : int, default 3
            Fits of each size, the models taking turns; the fastest counts, because whatever else a computer does only
            adds time. One fit of the smallest size goes before, unmeasured, so that compiling is not counted.
        random_state : int, default 0
        """
        named = dict(models) if isinstance(models, Mapping) else {type(models).__name__: models}
        n_samples = num_samples(X)
        chosen = [max(2, n_samples // 2**k) for k in range(4, -1, -1)] if sizes is None else sorted(sizes)
        if not chosen or chosen[-1] > n_samples:
            raise ValueError(f"`sizes` must be numbers of samples up to {n_samples}; got {list(chosen)}.")
        order = np.random.default_rng(random_state).permutation(n_samples)

        def seconds_of(size: int) -> list[float]:
            """Seconds of one fit of each model."""
            data = [safe_indexing(given, order[:size]) for given in (X, y) if given is not None]
            return [timeit(partial(clone(model).fit, *data), number=1) for model in named.values()]

        seconds_of(chosen[0])  # compiles
        fastest = np.array([np.min([seconds_of(size) for _ in range(repeats)], axis=0) for size in chosen])
        return cls({name: (chosen, fastest[:, k]) for k, name in enumerate(named)})

    def plot(self, ax: Axes | None = None, *, legend: bool = True) -> ScalingDisplay:
        """Draw, on the given Axes or on a new figure."""
        ax, theme = self._begin(ax, (7.2, 4.8))
        for k, (name, (sizes, seconds)) in enumerate(self.timings.items()):
            exponent = self.exponents[name]
            label = name if np.isnan(exponent) else f"{name}: time ~ n$^{{{exponent:.2f}}}$"
            ax.plot(sizes, seconds, color=theme.colour(k), marker=theme.marker(k), linestyle="none", markersize=6,
                    label=label)  # fmt: skip
            if np.isfinite(exponent):
                ends = np.array([sizes.min(), sizes.max()])
                ax.plot(ends, self.factors[name] * ends**exponent, color=theme.colour(k), linewidth=1.3)
        ax.set(xscale="log", yscale="log", xlabel="samples", ylabel="seconds")
        sizes = np.unique(np.concatenate([sizes for sizes, _ in self.timings.values()]))
        if len(sizes) <= LEGIBLE.sizes:
            ax.set_xticks(sizes, [f"{size:,.0f}" for size in sizes])
            ax.set_xticks([], minor=True)
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.grid(True, which="major", color=theme.tint(theme.faint, 0.3), linewidth=0.6)
        ax.set_axisbelow(True)
        tidy(ax)
        if legend:
            ax.legend(frameon=False, loc="upper left")
        return self


def plot_scaling(
    timings: Mapping[str, tuple[ArrayLike, ArrayLike]], ax: Axes | None = None, *, legend: bool = True
) -> Axes:
    """Draw seconds against numbers of samples on logarithmic scales, with fitted exponents.

    Parameters
    ----------
    timings : mapping of names to pairs (sizes, seconds)
        `ScalingDisplay.from_estimator` measures them.
    ax : matplotlib Axes, optional
    legend : bool, default True

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from widemargin.plots import plot_scaling
    >>> plot_scaling({"smo": ([1000, 2000, 4000], [0.1, 0.4, 1.6])}).get_xscale()
    'log'
    """
    return ScalingDisplay(timings).plot(ax, legend=legend).ax_


def fit_power(sizes: Vector, seconds: Vector) -> tuple[float, float]:
    """Exponent and factor of the best power law; nan where there are not two different sizes."""
    if len(np.unique(sizes)) < 2:
        return float("nan"), float("nan")
    exponent, logarithm = np.polyfit(np.log(sizes), np.log(seconds), 1)
    return float(exponent), float(np.exp(logarithm))


def _checked(name: str, sizes: ArrayLike, seconds: ArrayLike) -> tuple[Vector, Vector]:
    """Arrays of equal length with positive entries, which is what a logarithm needs."""
    n, t = np.asarray(sizes, np.float64).ravel(), np.asarray(seconds, np.float64).ravel()
    if len(n) != len(t) or len(n) == 0:
        raise ValueError(f"{name!r} has {len(n)} sizes and {len(t)} times: give one time for each size.")
    if not (np.all(n > 0) and np.all(t > 0) and np.isfinite(t).all()):
        raise ValueError(f"Sizes and times of {name!r} must be positive numbers to be drawn on logarithmic scales.")
    return n, t
