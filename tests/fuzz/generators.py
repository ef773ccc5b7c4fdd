"""Data on which rounding errors are large, drawn from a random generator, and ordinary data to compare with.

    points(rng, n, ordinary)   samples, and the distance between neighbours that a kernel should resolve
    labels, targets, weights   what the samples are trained for

Each shape is named after what makes it hard. `unit` is the length on which neighbours differ, so that a Gaussian kernel
with gamma about 1 / unit^2 is neither constant nor the identity there, whatever far or large samples do elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Rng = np.random.Generator
Array = NDArray[np.float64]

FAR_FROM = 2048  # samples beyond which half of all hostile data have far groups, the weak spot of float32 rows
FAR = 15.0  # units from the origin
TUBE = 0.1  # epsilon of regressions on `late_crowds`
MOST_ENTRIES = 4_000_000  # of a matrix of samples: 32 MB


@dataclass
class Points:
    """Samples, dense or CSR, the length on which neighbours differ, and the name of the shape."""

    X: Any
    unit: float
    shape: str

    @property
    def dense(self) -> NDArray:
        return self.X.toarray() if sparse.issparse(self.X) else self.X


def power(rng: Rng, low: float, high: float) -> float:
    """10^u with u uniform between two exponents."""
    return float(10.0 ** rng.uniform(low, high))


def few(rng: Rng, n: int) -> int:
    """The size of a small group among n samples: two or more, rarely more than a hundred, at most a half."""
    return int(min(max(2, n // 2), 2.0 * 60.0 ** rng.random()))


# ----- hostile shapes
def far_groups(rng: Rng, n: int) -> tuple[Any, float]:
    """Points on a coarse grid, exact in float32, and one to three dense groups far away, mirrored at the origin."""
    d = int(rng.integers(1, 5))
    X = rng.integers(-40, 40, (n, d)) / 8.0
    for _ in range(rng.choice([1, 1, 2, 3])):
        m = few(rng, n)
        group = power(rng, 1.5, 3.5) * rng.choice([-1.0, 1.0], d) + 0.5 * rng.normal(size=(m, d))
        group[m // 2 :] *= -1.0
        X[rng.choice(n, m, replace=False)] = group
    return X, 1.0


def far_crowd(rng: Rng, n: int) -> tuple[Any, float]:
    """Grid points of a plane with one far group of random points, symmetric about the origin: centring moves none."""
    near = rng.integers(-40, 40, ((n + 1) // 2, 2)) / 8.0
    X = np.vstack([near, -near])[:n]
    m = min(n - n % 2, 2 * (few(rng, n) // 2))
    group = power(rng, 1.8, 3.0) + 0.5 * rng.normal(size=(m // 2, 2))
    X[:m] = np.vstack([group, -group])
    return X[rng.permutation(n)], 1.0


def far_wide(rng: Rng, n: int) -> tuple[Any, float]:
    """More features than are compared one by one, and a few samples far away that lie close together: their distances
    are differences of large products, and multipliers must be large to tell them apart."""
    d = int(rng.choice([65, 80, 120]))
    X = rng.normal(size=(n, d)) / np.sqrt(d)
    m = min(n, int(rng.integers(2, 9)))
    centre = rng.normal(size=d)
    centre *= power(rng, 1.2, 1.7) / np.linalg.norm(centre)
    X[rng.choice(n, m, replace=False)] = centre + power(rng, -2.5, 0.0) * rng.normal(size=(m, d)) / np.sqrt(d)
    return X, 1.0


def late_crowds(rng: Rng, n: int) -> tuple[Any, float]:
    """Samples that a regression fits at once, far crowds whose multipliers grow to C afterwards, and grid points that
    never matter and have been left out by then (see `targets`)."""
    X = rng.integers(-40, 40, (n, 2)) / 8.0
    first, then = _parts_of_late_crowds(n)
    far = power(rng, 1.8, 3.0)
    X[:first] = -far + 60.0 * rng.uniform(-1.0, 1.0, (first, 2))
    centres = far + 60.0 * rng.uniform(-1.0, 1.0, (then // 16 + 1, 2))
    X[first : first + then] = centres[np.arange(then) // 16] + 0.5 * rng.normal(size=(then, 2))
    return X, 1.0


def _parts_of_late_crowds(n: int) -> tuple[int, int]:
    """Samples that are fitted first, at most the first block of a solver, and samples of the crowds."""
    return min(n // 8, 128), min(n // 16, 320)


def bits(rng: Rng, n: int) -> tuple[Any, float]:
    """Zeros and ones, whose inner products are exact: what is left are roundings of sums."""
    return rng.integers(0, 2, (n, int(rng.integers(2, 20)))).astype(np.float64), 1.0


def isolated(rng: Rng, n: int) -> tuple[Any, float]:
    """A normal cloud and a few samples that no other is near."""
    d = int(rng.integers(1, 12))
    X = rng.normal(size=(n, d))
    m = min(n, int(rng.integers(1, 4)))
    X[rng.choice(n, m, replace=False)] *= power(rng, 2.0, 8.0)
    return X, float(np.sqrt(d))


def mixed_scales(rng: Rng, n: int) -> tuple[Any, float]:
    """Features whose scales differ by many orders of magnitude."""
    d = int(rng.integers(2, 10))
    return rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-5.0, 5.0, d), power(rng, -2.0, 4.0)


def heavy_tails(rng: Rng, n: int) -> tuple[Any, float]:
    """Cauchy or log-normal features."""
    d = int(rng.integers(1, 30))
    X = rng.standard_cauchy((n, d)) if rng.random() < 0.5 else np.exp(3.0 * rng.normal(size=(n, d)))
    return X, float(np.sqrt(d))


def duplicates(rng: Rng, n: int) -> tuple[Any, float]:
    """Few different samples, each many times, exactly or up to noise near the last digit."""
    d = int(rng.integers(1, 8))
    different = int(rng.integers(2, 12))
    X = rng.normal(size=(different, d))[rng.integers(0, different, n)]
    return X + rng.choice([0.0, 1e-16, 1e-12, 1e-8, 1e-5]) * rng.normal(size=(n, d)), float(np.sqrt(d))


def near_duplicates(rng: Rng, n: int) -> tuple[Any, float]:
    """A cloud in which every other sample is the one before, moved by far less than the kernel's width."""
    d = int(rng.integers(1, 8))
    X = rng.normal(size=(n, d))
    X[1::2] = X[: n - 1 : 2] + power(rng, -14.0, -4.0) * rng.normal(size=X[1::2].shape)
    return X, float(np.sqrt(d))


def offset(rng: Rng, n: int) -> tuple[Any, float]:
    """A cloud far from the origin: products of uncentred samples cancel."""
    d = int(rng.choice([2, 5, 20, 30, 100]))
    return rng.normal(size=(n, d)) + power(rng, 3.0, 8.0) * rng.choice([-1.0, 1.0], d), float(np.sqrt(d))


def tiny(rng: Rng, n: int) -> tuple[Any, float]:
    """Features so small that their squares, or they themselves, are subnormal numbers or zero."""
    scale, d = power(rng, -310.0, -15.0), int(rng.integers(1, 6))
    return rng.normal(size=(n, d)) * scale, scale


def huge(rng: Rng, n: int) -> tuple[Any, float]:
    """Features whose squares overflow in float32, or in float64."""
    scale, d = power(rng, 10.0, 155.0), int(rng.integers(1, 6))
    return rng.normal(size=(n, d)) * scale, scale


def binary(rng: Rng, n: int) -> tuple[Any, float]:
    """Zeros and ones, dense or CSR; with few features many samples are equal."""
    X = (rng.random((n, int(rng.choice([4, 36, 130])))) < rng.choice([0.05, 0.3])).astype(np.float64)
    return sparse.csr_array(X) if rng.random() < 0.3 else X, 2.0


def text(rng: Rng, n: int) -> tuple[Any, float]:
    """CSR rows with a few values each, some rows empty, some values large."""
    X = sparse.random_array((n, int(rng.choice([60, 300]))), density=0.03, rng=rng, format="csr")
    if rng.random() < 0.5:
        X.data *= np.exp(2.0 * rng.normal(size=X.nnz))
    return X, 1.0


def wide(rng: Rng, n: int) -> tuple[Any, float]:
    """More features than are compared one by one: distances come from products."""
    d = int(rng.choice([25, 40, 65, 97, 200]))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.4:
        X[rng.choice(n, min(n, few(rng, n)), replace=False)] += power(rng, 0.0, 4.0)
    return X, float(np.sqrt(d))


# ----- ordinary shapes
def moons(rng: Rng, n: int) -> tuple[Any, float]:
    """Two half circles with noise."""
    angle, side = np.pi * rng.random(n), rng.integers(0, 2, n)
    X = np.column_stack([np.cos(angle) + side, (1 - 2 * side) * np.sin(angle) + 0.5 * side])
    return X + 0.2 * rng.normal(size=(n, 2)), 0.7


def blobs(rng: Rng, n: int) -> tuple[Any, float]:
    """Three normal clouds."""
    d = int(rng.integers(2, 8))
    return 3.0 * rng.normal(size=(3, d))[rng.integers(0, 3, n)] + rng.normal(size=(n, d)), float(np.sqrt(d))


def standard(rng: Rng, n: int) -> tuple[Any, float]:
    """Standardised features."""
    d = int(rng.choice([2, 5, 10, 20, 50]))
    return rng.normal(size=(n, d)), float(np.sqrt(d))


Shape = Callable[[Rng, int], tuple[Any, float]]
ORDINARY: tuple[Shape, ...] = (moons, blobs, standard)
HOSTILE: tuple[Shape, ...] = (
    far_groups, far_groups, far_crowd, far_crowd, far_wide, late_crowds, bits, isolated, mixed_scales, heavy_tails,
    duplicates, near_duplicates, offset, tiny, huge, binary, text, wide, wide, moons, standard,
)  # fmt: skip


def points(rng: Rng, n: int, ordinary: bool) -> Points:
    """n samples of a random shape."""
    shapes = ORDINARY if ordinary else HOSTILE
    if n > FAR_FROM and not ordinary and rng.random() < 0.5:
        shapes = (far_groups, far_crowd, far_wide, late_crowds)
    make = shapes[rng.integers(len(shapes))]
    X, unit = make(rng, n)
    if not sparse.issparse(X) and X.shape[1] * n > MOST_ENTRIES:
        X = X[:, : max(2, MOST_ENTRIES // n)]
    return Points(X, unit, make.__name__)


# ----- what they are trained for
def labels(rng: Rng, sample: Points, n_classes: int, ordinary: bool) -> NDArray[np.int64]:
    """Class numbers: a rule with some labels flipped; at random; all of one class but one or two samples; or an easy
    rule for all but far samples, whose labels are random: their multipliers are as large as C allows.
    """
    n, far = sample.X.shape[0], sample.shape.startswith("far")
    kind = 0 if ordinary else rng.choice(4, p=[0.25, 0.1, 0.05, 0.6] if far else [0.55, 0.2, 0.15, 0.1])
    if kind == 0:
        scores = _scores(rng, sample)
        y = np.searchsorted(np.quantile(scores, np.arange(1, n_classes) / n_classes), scores)
        flipped = rng.random(n) < 0.1
        y[flipped] = rng.integers(0, n_classes, int(flipped.sum()))
    elif kind == 1:
        y = rng.integers(0, n_classes, n)
    elif kind == 2:
        y = np.zeros(n, np.int64)
    else:
        near = sample.dense[:, [0, -1]] / sample.unit
        y = (near[:, 0] > 0).astype(np.int64) + (near[:, 1] > 0)
        y = np.where(y == 1, 0, y // 2 + n_classes - 2)
        distant = np.linalg.norm(sample.dense / sample.unit, axis=1) > FAR
        y[distant] = rng.integers(0, n_classes, int(distant.sum()))
    y[rng.choice(n, n_classes, replace=False)] = np.arange(n_classes)  # no class without a sample
    return y.astype(np.int64)


def targets(rng: Rng, sample: Points, ordinary: bool) -> Array:
    """A function of the samples with noise; hostile ones have any scale and offset, and an outlier.

    Of `late_crowds`: well inside the tube, or beyond it by more than those of the crowds, so that they come first.
    """
    if sample.shape == "late_crowds":
        n = sample.X.shape[0]
        first, then = _parts_of_late_crowds(n)
        return TUBE * np.repeat([1.6, 1.25, 0.4], [first, then, n - first - then]) * rng.choice([-1.0, 1.0], n)
    scores = _scores(rng, sample)
    y = scores + 0.2 * rng.normal(size=len(scores))
    if ordinary:
        return y
    y = y * power(rng, -3.0, 3.0) + rng.choice([0.0, 0.0, 1e4])
    if rng.random() < 0.3:
        y[rng.integers(len(y))] *= power(rng, 1.0, 4.0)
    return y


def weights(rng: Rng, n: int) -> Array:
    """Sample weights: over eight orders of magnitude, or one or two samples against all others; some are zero."""
    if rng.random() < 0.5:
        w = 10.0 ** rng.uniform(-4.0, 4.0, n)
    else:
        w = np.ones(n)
        w[rng.choice(n, min(n, int(rng.integers(1, 3))), replace=False)] = power(rng, 2.0, 8.0)
    if rng.random() < 0.3 and n > 8:
        w[rng.choice(n, n // 8, replace=False)] = 0.0
    return w


def _scores(rng: Rng, sample: Points) -> Array:
    """A smooth function of the samples on their own length, of size about one."""
    X = sample.X
    with np.errstate(over="ignore", invalid="ignore"):
        direction = rng.normal(size=X.shape[1]) / (np.sqrt(X.shape[1]) * sample.unit)
        along = np.asarray(X @ direction, np.float64)
        scores = np.sin(along) + 0.3 * np.cos(3.0 * along + 1.0)
    return np.where(np.isfinite(scores), scores, 0.0) + 1e-3 * rng.normal(size=X.shape[0])
