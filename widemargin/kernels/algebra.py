"""Kernels made of kernels. With k1, k2 kernels and c >= 0 a number, these are kernels again:

    Sum       k1(x, z) + k2(x, z)         features of both, side by side
    Product   k1(x, z) k2(x, z)           all products of a feature of one with a feature of the other
    Scaled    c k1(x, z)
    Constant  c;  K + c is the kernel of an augmented model, whose bias is one more weight

Source: Cristianini & Shawe-Taylor (2000), Proposition 3.12.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from widemargin.kernels.errors import (
    ErrorTerms,
    additive,
    is_normal,
    multiplicative,
    of_product,
    of_sum,
    scaled,
    stacked,
    unit_of,
)
from widemargin.kernels.kernel import Kernel, RepresentationMismatch, Samples
from widemargin.kernels.samples.objects import Objects
from widemargin.kernels.samples.raw import read_precision


@dataclass(frozen=True, eq=False)
class SharedSamples(Samples):
    """One preparation per distinct representation; part i reads preparation `which[i]`."""

    prepared: tuple[Samples, ...]
    which: tuple[int, ...]

    @property
    def dtype(self) -> np.dtype:
        return self.prepared[0].dtype  # type: ignore[attr-defined]

    def __len__(self) -> int:
        return len(self.prepared[0])

    def take(self, index: NDArray[np.int64]) -> SharedSamples:
        return SharedSamples(tuple(samples.take(index) for samples in self.prepared), self.which)

    def tile(self, start: int, stop: int) -> SharedSamples:
        return SharedSamples(tuple(samples.tile(start, stop) for samples in self.prepared), self.which)

    def part(self, number: int) -> Samples:
        """The samples of one part."""
        return self.prepared[self.which[number]]


class _Composite(Kernel):
    """A kernel made of others, its `parts`."""

    parts: tuple[Kernel, ...]

    @property
    def releases_gil(self) -> bool:  # type: ignore[override]
        return all(part.releases_gil for part in self.parts)

    @property
    def accepts_objects(self) -> bool:  # type: ignore[override]
        return any(part.accepts_objects for part in self.parts)

    @property
    def is_psd(self) -> bool:  # type: ignore[override]
        return all(part.is_psd for part in self.parts)

    @property
    def defined_by_values(self) -> bool:
        return any(part.defined_by_values for part in self.parts)


class _Combination(_Composite):
    """Base of sums and products: several parts evaluated on the same data, and combined."""

    join: ClassVar[np.ufunc]

    def __init__(self, *parts: Kernel) -> None:
        flat: list[Kernel] = []
        for part in parts:
            if not isinstance(part, Kernel):
                raise TypeError(f"{type(self).__name__} takes kernels; got {part!r}.")
            flat.extend(part.parts if isinstance(part, _Combination) and type(part) is type(self) else [part])
        self.parts = tuple(flat)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Combination) and type(other) is type(self) and other.parts == self.parts

    def __hash__(self) -> int:
        return hash((type(self), self.parts))

    def representation(self) -> tuple:
        return type(self).__name__, tuple(part.representation() for part in self.parts)

    def prepare(self, X: Any, dtype: DTypeLike = np.float64, like: Samples | None = None) -> SharedSamples:
        if like is not None and not isinstance(like, SharedSamples):
            raise RepresentationMismatch(f"A combination of kernels cannot follow {type(like).__name__}.")
        place: dict[Any, int] = {}
        prepared: list[Samples] = []
        for number, part in enumerate(self.parts):
            name = part.representation()
            if name not in place:
                place[name] = len(prepared)
                prepared.append(part.prepare(X, dtype, None if like is None else like.part(number)))
        return SharedSamples(tuple(prepared), tuple(place[part.representation()] for part in self.parts))

    def block(self, left: SharedSamples, right: SharedSamples, out: NDArray) -> NDArray:  # type: ignore[override]
        self.parts[0].block(left.part(0), right.part(0), out)
        scratch = np.empty(out.shape, out.dtype)
        for number in range(1, len(self.parts)):
            self.join(out, self.parts[number].block(left.part(number), right.part(number), scratch), out=out)
        return out

    def diag(self, samples: SharedSamples) -> NDArray[np.float64]:  # type: ignore[override]
        return self.join.reduce([part.diag(samples.part(number)) for number, part in enumerate(self.parts)], axis=0)

    def _errors(self, samples: SharedSamples) -> list[ErrorTerms]:
        return [part.errors(samples.part(number)) for number, part in enumerate(self.parts)]


class Sum(_Combination):
    """k1(x, z) + k2(x, z) + ...; written `k1 + k2`.

    Examples
    --------
    >>> from widemargin.kernels import Gaussian, Linear
    >>> Linear() + Gaussian(2.0)
    Linear() + Gaussian(gamma=2.0)
    >>> (Linear() + Gaussian(2.0))([[1.0]], [[1.0]]).tolist()
    [[2.0]]
    """

    join = np.add

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.parts))

    def errors(self, samples: SharedSamples) -> ErrorTerms:  # type: ignore[override]
        if self.defined_by_values:
            unknown = super().errors(samples)
            return stacked([unknown, *self._errors(samples)], unknown.size)
        return of_sum(self._errors(samples), samples.dtype)


class Product(_Combination):
    """k1(x, z) k2(x, z) ...; written `k1 * k2`.

    Examples
    --------
    >>> from widemargin.kernels import Gaussian, Linear
    >>> (Linear() * Gaussian(2.0))([[3.0]], [[3.0]]).tolist()
    [[9.0]]
    """

    join = np.multiply

    def __repr__(self) -> str:
        return " * ".join(f"({part!r})" if isinstance(part, Sum | Scaled) else repr(part) for part in self.parts)

    def errors(self, samples: SharedSamples) -> ErrorTerms:  # type: ignore[override]
        if self.defined_by_values:
            unknown = super().errors(samples)
            parts = zip(self.parts, self._errors(samples))
            if any(part.defined_by_values and errors.largest() > 0.0 for part, errors in parts):  # a matrix that is
                return additive(np.full(len(unknown.size), np.inf), unknown.size)  # not symmetric
            return unknown
        return of_product(self._errors(samples), samples.dtype)


@dataclass(frozen=True)
class Scaled(_Composite):
    """factor * k(x, z) for a factor of 0 or more; written `3.0 * k`.

    Examples
    --------
    >>> from widemargin.kernels import Linear
    >>> (3.0 * Linear())([[2.0]], [[5.0]]).tolist()
    [[30.0]]
    """

    factor: float
    kernel: Kernel

    def __post_init__(self) -> None:
        object.__setattr__(self, "factor", _not_negative(self.factor, "A factor of a kernel"))

    def __repr__(self) -> str:
        inner = f"({self.kernel!r})" if isinstance(self.kernel, Sum | Product) else repr(self.kernel)
        return f"{self.factor!r} * {inner}"

    @property
    def parts(self) -> tuple[Kernel]:  # type: ignore[override]
        return (self.kernel,)

    def representation(self) -> Any:
        return self.kernel.representation()

    def prepare(self, X: Any, dtype: DTypeLike = np.float64, like: Samples | None = None) -> Samples:
        return self.kernel.prepare(X, dtype, like)

    def block(self, left: Samples, right: Samples, out: NDArray) -> NDArray:
        self.kernel.block(left, right, out)
        return np.multiply(out, out.dtype.type(self.factor), out=out)

    def diag(self, samples: Samples) -> NDArray[np.float64]:
        return self.factor * self.kernel.diag(samples)

    def errors(self, samples: Samples) -> ErrorTerms:
        if self.defined_by_values:
            inner = self.kernel.errors(samples)
            return ErrorTerms(self.factor * inner.left, inner.right, inner.size)
        return scaled(self.factor, self.kernel.errors(samples), samples.dtype)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Constant(Kernel):
    """k(x, z) = value, the same for all; `k + 0.5` adds it to a kernel.

    Examples
    --------
    >>> from widemargin.kernels import Linear
    >>> (Linear() + 0.5)([[2.0]], [[5.0]]).tolist()
    [[10.5]]
    """

    value: float = 1.0
    is_psd = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _not_negative(self.value, "A constant added to a kernel"))

    def prepare(self, X: Any, dtype: DTypeLike = np.float64, like: Samples | None = None) -> Samples:
        """Return samples of which only the number matters."""
        return Objects(np.empty((X.shape[0] if hasattr(X, "shape") else len(X), 0)), read_precision(dtype))

    def block(self, left: Samples, right: Samples, out: NDArray) -> NDArray:
        out[...] = self.value
        return out

    def diag(self, samples: Samples) -> NDArray[np.float64]:
        return np.full(len(samples), self.value)

    def errors(self, samples: Objects) -> ErrorTerms:  # type: ignore[override]
        size = np.full(len(samples), np.sqrt(self.value) if is_normal(self.value, samples.dtype) else np.inf)
        return multiplicative(unit_of(samples.dtype), size, size)

    def representation(self) -> str:
        return "number of samples"


def add(kernel: Kernel, other: Kernel | float) -> Kernel:
    """kernel + other, where other is a kernel or a constant."""
    if isinstance(other, Kernel):
        return Sum(kernel, other)
    if not isinstance(other, Real):
        return NotImplemented
    return kernel if other == 0 else Sum(kernel, Constant(float(other)))


def multiply(kernel: Kernel, other: Kernel | float) -> Kernel:
    """kernel * other, where other is a kernel or a factor."""
    if isinstance(other, Kernel):
        return Product(kernel, other)
    if not isinstance(other, Real):
        return NotImplemented
    if isinstance(kernel, Scaled):
        return Scaled(kernel.factor * float(other), kernel.kernel)
    return Scaled(float(other), kernel)


def _not_negative(number: Any, what: str) -> float:
    """Return a finite number >= 0, which keeps a kernel positive semi-definite; raise ValueError otherwise."""
    value = float(number)
    if not 0 <= value < np.inf:
        raise ValueError(f"{what} must be a finite number, 0 or more, or it is no kernel any more; got {number!r}.")
    return value
