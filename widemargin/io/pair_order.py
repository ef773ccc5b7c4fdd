"""One-against-one coefficients of several classes, when the classes are put into another order.

For classes i < j the machine (i, j) answers with a positive value for class i. Support vectors stand class by class,
and one of class i carries n_classes - 1 coefficients: row j - 1 for its machine with j > i, row j for that with j < i
(the layout of LIBSVM; Chang & Lin 2011, section 7). Where two classes change places in the order, their machine turns
round: coefficients and rho change sign, and so does B of its sigmoid 1 / (1 + exp(A f + B)).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.io.libsvm_model_text import LibsvmModel


def reorder(text: LibsvmModel, order: NDArray[np.int64]) -> None:
    """Put class order[a] of a classifier's file into place a."""
    head, counts = text.head, text.head["nr_sv"]
    n_classes = len(counts)
    starts = np.concatenate([[0], np.cumsum(counts)])
    taken = np.concatenate([np.arange(starts[old], starts[old + 1]) for old in order])
    coefficients = np.empty_like(text.coefficients)
    begin = 0
    for a, old in enumerate(order):
        own = slice(starts[old], starts[old + 1])
        new = slice(begin, begin + counts[old])
        begin = new.stop
        for b, other in enumerate(order):
            if a != b:
                turned = -1.0 if (a < b) != (old < other) else 1.0
                coefficients[b - (b > a), new] = turned * text.coefficients[other - (other > old), own]
    text.coefficients, text.vectors = coefficients, text.vectors[taken]
    first, second = np.triu_indices(n_classes, 1)
    number = np.zeros((n_classes, n_classes), np.int64)
    number[first, second] = number[second, first] = np.arange(len(first))
    pair = number[order[first], order[second]]
    sign = np.where(order[first] < order[second], 1.0, -1.0)
    head |= {"label": head["label"][order], "nr_sv": counts[order], "rho": sign * head["rho"][pair]}
    if len(text.numbers("probA")):
        head |= {"probA": head["probA"][pair], "probB": sign * head["probB"][pair]}
