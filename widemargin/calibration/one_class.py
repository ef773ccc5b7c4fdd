"""Probability of being an inlier, by binning the decision values of the training samples (Que & Lin 2022).

The values of the training samples are sorted. Those below zero and those above are divided into five bins of equally
many samples each; the middles of the ten bins are the marks. A new value between marks i - 1 and i gets the probability
i / 10 of being normal; below the first mark 0.001, above the last 0.999.

See  Que & Lin (2022), "One-class SVM probabilistic outputs", the binning method, as in LIBSVM since 3.31.
"""

from __future__ import annotations

import numpy as np

from widemargin.linalg.arrays import Vector

HALF = 5  # marks on each side of the boundary
LOWEST, HIGHEST = 0.001, 0.999  # probabilities beyond the outermost marks


def density_marks(values: Vector, weight: Vector) -> Vector | None:
    """The ten marks, ascending, from decision values of the training samples; None with too few on either side.

    A sample counts with its weight, so that weight 2 equals the sample given twice.

    Examples
    --------
    >>> import numpy as np
    >>> density_marks(np.arange(-10.0, 10.0) + 0.5, np.ones(20)).tolist()
    [-8.5, -6.5, -4.5, -2.5, -0.75, 0.75, 2.5, 4.5, 6.5, 8.5]
    """
    order = np.argsort(values, kind="stable")
    values, upto = values[order], np.cumsum(weight[order])
    first_inside = int(np.searchsorted(values, 0.0))
    outside = float(upto[first_inside - 1]) if first_inside else 0.0
    inside = float(upto[-1]) - outside
    counts = np.array_equal(weight, np.round(weight))
    sides = (outside, inside) if counts else (first_inside, len(values) - first_inside)
    if min(sides) < HALF:
        return None
    steps = np.arange(HALF + 1) / HALF
    below, above = outside * steps, outside + inside * steps
    if counts:  # bins end between samples, as with LIBSVM's integers
        below, above = np.floor(below + 1e-9), np.floor(above + 1e-9)
    # a position p belongs to the sample that covers it: the first with more than p below its end, for ends the last
    edges = np.empty(2 * HALF + 1)
    edges[:HALF] = values[np.searchsorted(upto, below[:HALF], side="right")]
    edges[HALF] = 0.0
    last = len(values) - 1
    edges[HALF + 1 :] = values[np.minimum(np.searchsorted(upto, above[1:] * (1.0 - 1e-12), side="left"), last)]
    return 0.5 * (edges[:-1] + edges[1:])


def probability_of_normal(values: Vector, marks: Vector) -> Vector:
    """Probability that samples with these decision values are not outliers."""
    bins = np.searchsorted(marks, values, side="right")  # number of marks at or below the value
    result = np.clip(bins, 1, 2 * HALF - 1) / (2 * HALF)
    result[values < marks[0]] = LOWEST
    result[values > marks[-1]] = HIGHEST
    return result
