"""One-against-one coefficients of several classes, when the classes are put into another order.

For classes i < j the machine (i, j) answers with a positive value for class i. Support vectors stand class by class,
and one of class i carries n_classes - 1 coefficients: row j - 1 for its machine with j > i, row j for that with j < i
(the layout of LIBSVM; Chang & Lin 2011, section 7). Where two classes change places in the order, their machine turns
round: coefficients and intercept change sign, and so does B of its sigmoid 1 / (1 + exp(A f + B)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pairs:
    """The machines of all pairs of classes.

    Attributes
    ----------
    counts : (n_classes,) support vectors of each class
    vectors : the n_SV support vectors, an array or a CSR matrix
    coefficients : (n_classes - 1, n_SV)
    intercept : (n_pairs,), pairs in the order (0, 1), (0, 2), ...
    slope, offset : (n_pairs,) A and B of the sigmoids, or empty
    """

    counts: NDArray[np.int64]
    vectors: Any
    coefficients: Vector
    intercept: Vector
    slope: Vector
    offset: Vector

    def reordered(self, order: NDArray[np.int64]) -> Pairs:
        """The same machines with class order[a] in place a."""
        n_classes = len(self.counts)
        starts = np.concatenate([[0], np.cumsum(self.counts)])
        taken = np.concatenate([np.arange(starts[old], starts[old + 1]) for old in order])
        coefficients = np.empty_like(self.coefficients)
        begin = 0
        for a, old in enumerate(order):
            own = slice(starts[old], starts[old + 1])
            new = slice(begin, begin + self.counts[old])
            begin = new.stop
            for b, other in enumerate(order):
                if a != b:
                    turned = -1.0 if (a < b) != (old < other) else 1.0
                    coefficients[b - (b > a), new] = turned * self.coefficients[other - (other > old), own]
        first, second = np.triu_indices(n_classes, 1)
        number = np.zeros((n_classes, n_classes), np.int64)
        number[first, second] = number[second, first] = np.arange(len(first))
        pair = number[order[first], order[second]]
        sign = np.where(order[first] < order[second], 1.0, -1.0)
        slope, offset = (self.slope[pair], sign * self.offset[pair]) if len(self.slope) else (self.slope, self.offset)
        return Pairs(self.counts[order], self.vectors[taken], coefficients, sign * self.intercept[pair], slope, offset)
