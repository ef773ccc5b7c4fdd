"""Covariance functions with free parameters: a tree of kernels that knows its derivatives, tile by tile.

theta holds the logarithms of the free parameters, from left to right in the tree. Two leaves cover the kernels:

    Exponential   v = exp(-gamma d(x, z)),  gamma = base exp(power theta):   dv/dtheta = power v log v
    Level         v = exp(power theta), the same for all pairs:              dv/dtheta = power v
    White         v = exp(theta) where x and z are one sample, else 0:       dv/dtheta = v
    Still         any kernel without free parameters

The first line is why no distance is ever computed again: the derivative comes from the value. Sums and products of
trees follow the rules of calculus. Tiles are used up as they are made; no n x n derivative is held.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from widemargin.kernels import Constant, Kernel, Samples
from widemargin.kernels.algebra import multiply

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Parameter:
    """A parameter on a logarithmic scale: its value and bounds; bounds of None keep it fixed."""

    value: float
    bounds: tuple[float, float] | None


class Node(ABC):
    """A part of a covariance."""

    def parameters(self) -> list[Parameter]:
        """Free parameters, left to right."""
        return []

    @abstractmethod
    def kernel(self, theta: Vector) -> Kernel | None:
        """The kernel between different samples; None where it is zero."""

    @abstractmethod
    def white(self, theta: Vector, X: Any) -> Vector | float:
        """What is added where a sample meets itself: the noise of each sample."""

    @abstractmethod
    def prepare(self, theta: Vector, X: Any) -> Tiles:
        """Evaluation on a set of samples."""


class Tiles(ABC):
    """A node at a given theta on given samples."""

    @abstractmethod
    def tile(self, top: int, bottom: int, left: int, right: int) -> tuple[Matrix, list[Matrix]]:
        """Values and derivatives of a rectangle; where it meets the diagonal, white noise is included."""


# ----- leaves
@dataclass(frozen=True)
class Exponential(Node):
    """A kernel exp(-gamma d) of the given class."""

    kind: Any
    parameter: Parameter
    power: float = 1.0
    base: float = 1.0

    def parameters(self) -> list[Parameter]:
        return [self.parameter]

    def kernel(self, theta: Vector) -> Kernel:
        with np.errstate(over="ignore"):
            return self.kind(min(self.base * float(np.exp(self.power * theta[0])), np.finfo(float).max))

    def white(self, theta: Vector, X: Any) -> float:
        return 0.0

    def prepare(self, theta: Vector, X: Any) -> Tiles:
        kernel = self.kernel(theta)
        return _ExponentialTiles(kernel, kernel.prepare(X), self.power if self.parameter.bounds else None)


@dataclass
class _ExponentialTiles(Tiles):
    kernel: Kernel
    samples: Samples
    power: float | None

    def tile(self, top: int, bottom: int, left: int, right: int) -> tuple[Matrix, list[Matrix]]:
        value = self.kernel.block(
            self.samples.tile(top, bottom), self.samples.tile(left, right), np.empty((bottom - top, right - left))
        )
        return value, [] if self.power is None else [self.power * xlogy(value, value)]


@dataclass(frozen=True)
class Still(Node):
    """A kernel whose numbers stay as they are."""

    given: Kernel

    def kernel(self, theta: Vector) -> Kernel:
        return self.given

    def white(self, theta: Vector, X: Any) -> float:
        return 0.0

    def prepare(self, theta: Vector, X: Any) -> Tiles:
        return _ExponentialTiles(self.given, self.given.prepare(X), None)


@dataclass(frozen=True)
class Level(Node):
    """A constant."""

    parameter: Parameter
    power: float = 1.0

    def parameters(self) -> list[Parameter]:
        return [self.parameter]

    def kernel(self, theta: Vector) -> Kernel:
        return Constant(float(np.exp(self.power * theta[0])))

    def white(self, theta: Vector, X: Any) -> float:
        return 0.0

    def prepare(self, theta: Vector, X: Any) -> Tiles:
        return _LevelTiles(float(np.exp(self.power * theta[0])), self.power if self.parameter.bounds else None, False)


@dataclass(frozen=True)
class White(Node):
    """Noise of the same variance on every sample."""

    parameter: Parameter

    def parameters(self) -> list[Parameter]:
        return [self.parameter]

    def kernel(self, theta: Vector) -> None:
        return None

    def white(self, theta: Vector, X: Any) -> float:
        return float(np.exp(theta[0]))

    def prepare(self, theta: Vector, X: Any) -> Tiles:
        return _LevelTiles(float(np.exp(theta[0])), 1.0 if self.parameter.bounds else None, True)


@dataclass
class _LevelTiles(Tiles):
    """A constant everywhere, or on the diagonal only."""

    level: float
    power: float | None
    diagonal: bool

    def tile(self, top: int, bottom: int, left: int, right: int) -> tuple[Matrix, list[Matrix]]:
        if self.diagonal:
            value = np.zeros((bottom - top, right - left))
            meeting = np.arange(max(top, left), min(bottom, right))
            value[meeting - top, meeting - left] = self.level
        else:
            value = np.full((bottom - top, right - left), self.level)
        return value, [] if self.power is None else [self.power * value]


# ----- combinations
@dataclass(frozen=True)
class Join(Node):
    """Sum or product of two parts."""

    first: Node
    second: Node
    product: bool

    def parameters(self) -> list[Parameter]:
        return self.first.parameters() + self.second.parameters()

    def _split(self, theta: Vector) -> tuple[Vector, Vector]:
        """theta of each part."""
        cut = len(self.first.parameters())
        return theta[:cut], theta[cut:]

    def kernel(self, theta: Vector) -> Kernel | None:
        one, two = (node.kernel(part) for node, part in zip((self.first, self.second), self._split(theta), strict=True))
        if one is None or two is None:
            return None if self.product else (one if two is None else two)
        if not self.product:
            return one + two
        if isinstance(one, Constant):  # a factor costs less than a kernel of its own
            return multiply(two, one.value)
        return multiply(one, two.value) if isinstance(two, Constant) else one * two

    def white(self, theta: Vector, X: Any) -> Vector | float:
        one, two = self._split(theta)
        noises = self.first.white(one, X), self.second.white(two, X)
        if not self.product:
            return noises[0] + noises[1]
        if not (np.any(noises[0]) or np.any(noises[1])):
            return 0.0
        smooth = [0.0 if k is None else k.diag(k.prepare(X)) for k in (self.first.kernel(one), self.second.kernel(two))]
        return smooth[0] * noises[1] + smooth[1] * noises[0] + noises[0] * noises[1]

    def prepare(self, theta: Vector, X: Any) -> Tiles:
        one, two = self._split(theta)
        return _JoinTiles(self.first.prepare(one, X), self.second.prepare(two, X), self.product)


@dataclass
class _JoinTiles(Tiles):
    first: Tiles
    second: Tiles
    product: bool

    def tile(self, top: int, bottom: int, left: int, right: int) -> tuple[Matrix, list[Matrix]]:
        one, changes_of_one = self.first.tile(top, bottom, left, right)
        two, changes_of_two = self.second.tile(top, bottom, left, right)
        if not self.product:
            return one + two, changes_of_one + changes_of_two
        return one * two, [change * two for change in changes_of_one] + [one * change for change in changes_of_two]
