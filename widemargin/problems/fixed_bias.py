"""Models with a fixed bias: the equality constraint due to the bias is dropped.

A model without bias on the augmented kernel K + tau^2 has an implicit bias, tau^2 sum b, which is penalised
like any weight. tau = R = max |x| in feature space is the safe choice: it costs at most a factor 4 in the bound R^2 /
margin^2. With tau = 0 there is no bias at all.

one group, sum zero        (C-SVMs)      the constraint sum b = 0 is dropped; variables move alone
two groups                 (nu-SVMs)     sum y alpha = 0 is dropped, sum alpha = nu m stays: one group in a = sign * b
one group, sum not zero    (one-class)   the sum defines the model, there is no bias to fix: unchanged

See  Cristianini & Shawe-Taylor (2000), Remark 7.4.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.problems.dual import SignedDual


def without_bias(dual: SignedDual) -> SignedDual:
    """Return the same problem with bias zero, for use with the kernel K + tau^2."""
    if dual.n_groups == 0:
        return dual
    if dual.n_groups == 1:
        return dual if abs(dual.start.sum()) > 0.0 else replace(dual, n_groups=0)
    sign = np.where(dual.group == 0, 1.0, -1.0)
    ends = np.stack([sign * dual.lower, sign * dual.upper])
    return replace(
        dual,
        linear_term=sign * dual.linear_term,
        lower=ends.min(axis=0),
        upper=ends.max(axis=0),
        start=sign * dual.start,
        group=np.zeros(len(dual), np.int64),
        n_groups=1,
        sign=sign,
    )


def tau_of(solve: Any, diag: NDArray[np.float64]) -> float:
    """Return the tau of a solver for models with fixed bias: its own, or the safe one."""
    chosen = getattr(solve, "tau", None)
    return safe_tau(diag) if chosen is None else float(chosen)


def safe_tau(diag: NDArray[np.float64]) -> float:
    """R = max |x|, from the diagonal of the kernel matrix."""
    return float(np.sqrt(diag.max(initial=0.0)))
