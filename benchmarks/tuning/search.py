"""What one search is: the estimator, the grid of its parameters, the folds."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from math import prod
from typing import Any

import numpy as np

QUICK_VALUES = 3  # of each parameter in a short run: the ends and the middle
WARM_UP_VALUES = 2  # about the middle, where no library is slow


@dataclass(frozen=True)
class Search:
    """machine : "svc" or "svr"; folds : their number, or 0 if the data say which fold a row belongs to."""

    machine: str
    grid: dict[str, list[float]]
    folds: int = 5
    fixed: dict[str, float] = field(default_factory=dict)

    @property
    def cells(self) -> int:
        return prod(len(values) for values in self.grid.values())

    def quick(self) -> Search:
        """The same with few values of each parameter."""
        return replace(self, grid={name: _thinned(values) for name, values in self.grid.items()})

    def warm_up(self) -> Search:
        """A small search that loads and compiles the code of this one."""
        middle = {name: values[len(values) // 2 :][:WARM_UP_VALUES] for name, values in self.grid.items()}
        return replace(self, grid=middle, folds=2)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def _thinned(values: list[float]) -> list[float]:
    places = np.unique(np.linspace(0, len(values) - 1, QUICK_VALUES).round().astype(int))
    return [values[place] for place in places]


def powers_of_two(first: int, last: int, step: int = 2) -> list[float]:
    """2^first, 2^(first + step), ..., 2^last."""
    return [2.0**exponent for exponent in range(first, last + 1, step)]


def powers_of_ten(first: float, last: float, count: int) -> list[float]:
    return np.logspace(first, last, count).tolist()
