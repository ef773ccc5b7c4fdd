"""One-class SVM (support of a distribution) as a signed dual.

    min 1/2 |w|^2 - nu m rho + sum w_i max(0, rho - f_i),  m = sum of weights:  0 <= b_i <= w_i,  sum b = nu m

The offset rho is the threshold of the only group; the decision value is F - rho.
See  Schoelkopf et al. (2001), Neural Computation 13, in the scaling of Chang & Lin where the box is [0, w_i].
"""

from __future__ import annotations

import numpy as np

from widemargin.problems.classification import fill_up
from widemargin.problems.dual import SignedDual, Vector


def one_class(weight: Vector, nu: float) -> SignedDual:
    """One-class SVM: no linear term, box [0, w], sum nu m."""
    zeros = np.zeros(len(weight))
    return SignedDual(linear_term=zeros, lower=zeros, upper=weight.copy(), start=fill_up(weight, nu * weight.sum()))
