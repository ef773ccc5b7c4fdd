"""Covariance functions with free parameters: a tree of kernels with derivatives, tile by tile.

theta holds the logarithms of the free parameters, from left to right in the tree. Two leaves cover the kernels:

    Exponential   v = exp(-gamma d(x, z)),  gamma = base exp(power theta):   dv/dtheta = power v log v
    Level         v = exp(power theta), the same for all pairs:              dv/dtheta = power v
    White         v = exp(theta) where x and z are one sample, else 0:       dv/dtheta = v
    Still         any kernel without free parameters

The derivative of Exponential follows from its value, so no distance is computed again. Sums and products of
trees follow the rules of calculus. Each tile is used as soon as it is computed; no n x n derivative is stored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from widemargin.kernels import Constant, Kernel
from widemargin.kernels.algebra import multiply
from widemargin.linalg.arrays import Vector

Values = NDArray[np.float64] | float  # values of a tile; one number if all are equal
Tiles = Callable[[slice, slice], tuple[Values, list[Values]]]


@dataclass(frozen=True)
class Parameter:
    """A parameter on a logarithmic scale: its value and bounds; bounds of None keep it fixed."""

    value: float
    bounds: tuple[float, float] | None


class Node(ABC):
    """A part of a covariance."""

    def parameters(self) -> list[Parameter]:
        """Free and fixed parameters, left to right."""
        return []

    @abstractmethod
    def kernel(self, theta: Vector) -> Kernel | None:
        """The kernel between different samples; None where it is zero."""

    def white(self, theta: Vector, X: Any) -> Vector | float:
        """Noise of each sample, added to the diagonal."""
        return 0.0

    @abstractmethod
    def prepare(self, theta: Vector, X: Any) -> Tiles:
        """Return a function of rows and columns that gives values and derivatives on the samples X.

        Rows and columns of a tile are either the same, with white noise included, or have no sample in common.
        """


@dataclass(frozen=True)
class Still(Node):
    """A kernel without free parameters."""

    given: Kernel

    def kernel(self, theta: Vector) -> Kernel:
        return self.given

    def prepare(self, theta: Vector, X: Any) -> Tiles:
        return self.tiles(self.given, X)

    @staticmethod
    def tiles(kernel: Kernel, X: Any) -> Tiles:
        """The values of a kernel, without derivatives."""
        samples = kernel.prepare(X)

        def tile(rows: slice, columns: slice) -> tuple[Values, list[Values]]:
            left, right = samples.tile(rows.start, rows.stop), samples.tile(columns.start, columns.stop)
            return kernel.block(left, right, np.empty((len(left), len(right)))), []

        return tile


@dataclass(frozen=True)
class Leaf(Node):
    """A node with one parameter, v = base exp(power theta)."""

    parameter: Parameter
    power: float = 1.0
    base: float = 1.0

    def parameters(self) -> list[Parameter]:
        return [self.parameter]

    def value(self, theta: Vector) -> float:
        with np.errstate(over="ignore"):
            return min(self.base * float(np.exp(self.power * theta[0])), float(np.finfo(float).max))

    def changes(self, value: Values) -> list[Values]:
        """Return the derivative of a value proportional to v if the parameter is free."""
        return [self.power * value] if self.parameter.bounds else []


@dataclass(frozen=True)
class Exponential(Leaf):
    """A kernel exp(-v d) of the given class."""

    kind: Any = None

    def kernel(self, theta: Vector) -> Kernel:
        return self.kind(self.value(theta))

    def prepare(self, theta: Vector, X: Any) -> Tiles:
        values = Still.tiles(self.kernel(theta), X)

        def tile(rows: slice, columns: slice) -> tuple[Values, list[Values]]:
            value = values(rows, columns)[0]
            return value, self.changes(xlogy(value, value)) if self.parameter.bounds else []

        return tile


@dataclass(frozen=True)
class Level(Leaf):
    """A constant."""

    def kernel(self, theta: Vector) -> Kernel:
        return Constant(self.value(theta))

    def prepare(self, theta: Vector, X: Any) -> Tiles:
        value = self.value(theta)
        return lambda rows, columns: (value, self.changes(value))


@dataclass(frozen=True)
class White(Leaf):
    """Noise of the same variance on every sample."""

    def kernel(self, theta: Vector) -> None:
        return None

    def white(self, theta: Vector, X: Any) -> float:
        return self.value(theta)

    def prepare(self, theta: Vector, X: Any) -> Tiles:
        def tile(rows: slice, columns: slice) -> tuple[Values, list[Values]]:
            value = self.value(theta) * np.eye(rows.stop - rows.start) if rows == columns else 0.0
            return value, self.changes(value)

        return tile


@dataclass(frozen=True)
class Join(Node):
    """Sum or product of two parts."""

    first: Node
    second: Node
    product: bool

    def parameters(self) -> list[Parameter]:
        return self.first.parameters() + self.second.parameters()

    def _parts(self, theta: Vector) -> tuple[tuple[Node, Vector], tuple[Node, Vector]]:
        """Return both parts, each with its theta."""
        cut = len(self.first.parameters())
        return (self.first, theta[:cut]), (self.second, theta[cut:])

    def kernel(self, theta: Vector) -> Kernel | None:
        one, two = (node.kernel(own) for node, own in self._parts(theta))
        if one is None or two is None:
            return None if self.product else (one if two is None else two)
        if not self.product:
            return one + two
        if isinstance(one, Constant):  # a factor is cheaper than another kernel
            return multiply(two, one.value)
        return multiply(one, two.value) if isinstance(two, Constant) else one * two

    def white(self, theta: Vector, X: Any) -> Vector | float:
        one, two = (node.white(own, X) for node, own in self._parts(theta))
        if not self.product:
            return one + two
        if not (np.any(one) or np.any(two)):
            return 0.0
        kernels = [node.kernel(own) for node, own in self._parts(theta)]
        smooth = [0.0 if kernel is None else kernel.diag(kernel.prepare(X)) for kernel in kernels]
        return smooth[0] * two + smooth[1] * one + one * two

    def prepare(self, theta: Vector, X: Any) -> Tiles:
        first, second = (node.prepare(own, X) for node, own in self._parts(theta))

        def tile(rows: slice, columns: slice) -> tuple[Values, list[Values]]:
            one, changes_of_one = first(rows, columns)
            two, changes_of_two = second(rows, columns)
            if not self.product:
                return one + two, changes_of_one + changes_of_two
            return one * two, [change * two for change in changes_of_one] + [one * change for change in changes_of_two]

        return tile
