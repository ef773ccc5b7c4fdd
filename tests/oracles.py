"""Independent answers: all written from the formulas, in plain NumPy, sharing no code with the solvers.

solve_qp            the signed dual as a dense quadratic programme, by an interior-point solver (clarabel)
values_at           gradient, objective, violation, infeasibility and primal of any multipliers, in extended precision
MACHINES            every machine of the package on small data, with its builder
KERNELS, DATA       kernels with a second evaluation of each; data in every representation
GivenMatrix         a kernel that reads its values from a matrix, valid or not
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin.kernels import Gaussian, Kernel, Linear, Polynomial, Samples
from widemargin.problems import (
    SignedDual,
    epsilon_insensitive,
    hinge,
    nu_classification,
    nu_regression,
    one_class,
    squared_epsilon_insensitive,
    squared_hinge,
)

LONG = np.longdouble


# ----- quadratic programme
def solve_qp(dual: SignedDual, K: NDArray) -> tuple[float, NDArray[np.float64]]:
    """Value and multipliers of the signed dual by clarabel; |b| is taken apart as b = p - m with p, m >= 0."""
    import clarabel

    n = len(dual)
    rows = dual.row if dual.row is not None else np.arange(n)
    sign = np.ones(n) if dual.sign is None else dual.sign
    H = sign[:, None] * K[np.ix_(rows, rows)] * sign + np.diag(dual.diagonal)
    kinked = bool(np.any(dual.epsilon > 0))
    if kinked:
        H = np.block([[H, -H], [-H, H]])
        linear = np.concatenate([dual.linear_term + dual.epsilon, -dual.linear_term + dual.epsilon])
        lower, upper = np.zeros(2 * n), np.concatenate([dual.upper, -dual.lower])
    else:
        linear, lower, upper = dual.linear_term, dual.lower, dual.upper
    m = len(linear)
    constraints, right, cones = [], [], []
    if dual.n_groups:
        sums = np.zeros((dual.n_groups, n))
        sums[dual.group, np.arange(n)] = 1.0
        constraints.append(np.hstack([sums, -sums]) if kinked else sums)
        right.append(sums @ dual.start)
        cones.append(clarabel.ZeroConeT(dual.n_groups))
    most, least = np.flatnonzero(np.isfinite(upper)), np.flatnonzero(np.isfinite(lower))
    constraints += [np.eye(m)[most], -np.eye(m)[least]]
    right += [upper[most], -lower[least]]
    cones.append(clarabel.NonnegativeConeT(len(most) + len(least)))
    problem = (
        sparse.csc_matrix(np.triu(H)),
        linear,
        sparse.csc_matrix(np.vstack(constraints)),
        np.concatenate(right),
        cones,
    )
    for accuracy in (1e-11, 1e-9, 1e-8):  # what rounding allows differs from problem to problem
        options = clarabel.DefaultSettings()
        options.verbose = False
        options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = accuracy
        options.tol_ktratio = 1e-9
        options.max_iter = 500
        answer = clarabel.DefaultSolver(*problem, options).solve()
        if str(answer.status) in ("Solved", "AlmostSolved"):
            break
    else:
        raise AssertionError(f"the oracle itself failed: {answer.status}")
    x = np.asarray(answer.x)
    return float(answer.obj_val), x[:n] - x[n:] if kinked else x


# ----- values of a point
@dataclass
class Values:
    """What the definitions in problems/dual.py give for one point; see `values_at`."""

    function: NDArray
    gradient: NDArray
    objective: float
    violation: float
    infeasibility: float
    norm2: float


def values_at(dual: SignedDual, K: NDArray, beta: NDArray) -> Values:
    """Gradient, minimised objective, largest KKT violation and absolute infeasibility, from the definitions."""
    rows = dual.row if dual.row is not None else np.arange(len(dual))
    sign = np.ones(len(dual)) if dual.sign is None else dual.sign
    b = beta.astype(LONG)
    coefficients = np.zeros(len(K), LONG)
    np.add.at(coefficients, rows, sign * b)
    function = K.astype(LONG) @ coefficients
    f = sign * function[rows] + dual.diagonal * b + dual.linear_term
    norm2 = coefficients @ function
    objective = (
        0.5 * (norm2 + (dual.diagonal * b) @ b) + dual.linear_term.astype(LONG) @ b + dual.epsilon.astype(LONG) @ abs(b)
    )
    rises = {
        t: f[t] + (dual.epsilon[t] if b[t] >= 0 else -dual.epsilon[t]) for t in range(len(b)) if b[t] < dual.upper[t]
    }
    falls = {
        t: f[t] + (dual.epsilon[t] if b[t] > 0 else -dual.epsilon[t]) for t in range(len(b)) if b[t] > dual.lower[t]
    }
    violation = LONG(0)
    if dual.n_groups == 0:
        violation = max([violation, *falls.values(), *(-v for v in rises.values())])
    for g in range(dual.n_groups):
        up = [v for t, v in rises.items() if dual.group[t] == g]
        down = [v for t, v in falls.items() if dual.group[t] == g]
        if up and down:
            violation = max(violation, max(down) - min(up))
    outside = max(0.0, float((beta - dual.upper).max()), float((dual.lower - beta).max()))
    for g in range(dual.n_groups):
        members = dual.group == g
        outside = max(outside, abs(float(b[members].sum() - dual.start[members].astype(LONG).sum())))
    return Values(function, f, float(objective), float(violation), outside, float(norm2))


def primal_at(dual: SignedDual, function: NDArray, norm2: float, level: NDArray, scale: float = 1.0) -> float:
    """Primal value of the function `scale` F (per sample) and the levels, each loss maximised from its definition."""
    rows = dual.row if dual.row is not None else np.arange(len(dual))
    sign = np.ones(len(dual)) if dual.sign is None else dual.sign
    total = 0.5 * scale**2 * norm2
    for t in range(len(dual)):
        r = level[dual.group[t]] if dual.n_groups else 0.0
        total += _largest(float(-(scale * sign[t] * function[rows[t]] - r + dual.linear_term[t])), dual, t)
    for g in range(dual.n_groups):
        total -= level[g] * dual.start[dual.group == g].sum()
    return float(total)


def _largest(v: float, dual: SignedDual, t: int) -> float:
    """max of v b - D b^2 / 2 - e |b| over the box: tried at the ends, at zero and at the two stationary points."""
    lower, upper, D, e = dual.lower[t], dual.upper[t], dual.diagonal[t], dual.epsilon[t]
    points = [b for b in (lower, upper) if np.isfinite(b)] + ([0.0] if lower <= 0 <= upper else [])
    if D > 0:
        points += [b for b in ((v - e) / D, (v + e) / D) if lower <= b <= upper]
    elif (upper == np.inf and v - e > 0) or (lower == -np.inf and v + e < 0):
        return np.inf
    return max(v * b - 0.5 * D * b * b - e * abs(b) for b in points)


# ----- kernels and data
class Numbered(Samples):
    """Samples that are row numbers of a given matrix."""

    def __init__(self, index: NDArray[np.int64]) -> None:
        self.index = index

    def __len__(self) -> int:
        return len(self.index)

    def take(self, index: NDArray[np.int64]) -> Numbered:
        return Numbered(self.index[index])

    def tile(self, start: int, stop: int) -> Numbered:
        return Numbered(self.index[start:stop])


@dataclass(frozen=True, eq=False)
class GivenMatrix(Kernel):
    """Kernel values read from a matrix; the data are the row numbers 0..n-1. It need not be valid."""

    matrix: NDArray

    def prepare(self, X: Any = None, dtype: Any = np.float64, like: Samples | None = None) -> Numbered:
        return Numbered(np.arange(len(self.matrix)))

    def block(self, left: Samples, right: Samples, out: NDArray) -> NDArray:
        out[...] = self.matrix[np.ix_(left.index, right.index)]
        return out

    def diag(self, samples: Samples) -> NDArray[np.float64]:
        return self.matrix.diagonal()[samples.index].astype(np.float64)


KERNELS: dict[str, tuple[Kernel, Callable[[NDArray, NDArray], NDArray]]] = {
    "linear": (Linear(), lambda X, Z: X @ Z.T),
    "poly": (Polynomial(degree=3, gamma=0.2, coef0=1.0), lambda X, Z: (0.2 * (X @ Z.T) + 1.0) ** 3),
    "rbf": (Gaussian(gamma=0.3), lambda X, Z: np.exp(-0.3 * ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2))),
}


def _sparse_rows(n: int, rng: np.random.Generator) -> sparse.csr_array:
    """Rows with three values out of sixty, the last row empty."""
    X = np.zeros((n, 60))
    for i in range(n - 1):
        X[i, rng.choice(60, 3, replace=False)] = rng.normal(size=3)
    return sparse.csr_array(X)


DATA: dict[str, Callable[[int, np.random.Generator], Any]] = {
    "narrow": lambda n, rng: rng.normal(size=(n, 4)),
    "wide": lambda n, rng: rng.normal(size=(n, 40)) / 3.0,
    "csr": _sparse_rows,
    "binary": lambda n, rng: (rng.random((n, 36)) < 0.3).astype(np.float64),
    "binary-csr": lambda n, rng: sparse.csr_array((rng.random((n, 36)) < 0.15).astype(np.float64)),
}


def as_array(X: Any) -> NDArray[np.float64]:
    """Any representation as a dense matrix."""
    return X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)


def noisy_scores(X: Any, rng: np.random.Generator) -> NDArray[np.float64]:
    """A target that depends on the first features, with noise: not separable, median about zero."""
    A = as_array(X)
    scores = A @ rng.normal(size=A.shape[1]) + 0.5 * A[:, 0] ** 2 + 0.4 * A.std() * rng.normal(size=len(A))
    return (scores - np.median(scores)) / scores.std()


def signs(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Labels +1 and -1, both always present."""
    y = np.where(scores > 0, 1.0, -1.0)
    y[np.argmax(scores)], y[np.argmin(scores)] = 1.0, -1.0
    return y


# ----- machines
MACHINES: dict[str, Callable[[NDArray, NDArray], SignedDual]] = {
    "hinge": lambda t, w: hinge(signs(t), 3.0 * w),
    "squared_hinge": lambda t, w: squared_hinge(signs(t), 3.0 * w),
    "epsilon_insensitive": lambda t, w: epsilon_insensitive(t, 2.0 * w, 0.1),
    "squared_epsilon_insensitive": lambda t, w: squared_epsilon_insensitive(t, 2.0 * w, 0.1),
    "nu_classification": lambda t, w: nu_classification(signs(t), 0.4, w),
    "nu_regression": lambda t, w: nu_regression(t, 2.0 * w, 0.4),
    "one_class": lambda t, w: one_class(w, 0.3),
}

WITHOUT_BIAS = ("hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive")


def without_groups(dual: SignedDual) -> SignedDual:
    """The same machine with a fixed bias: no equality constraint."""
    return replace(dual, n_groups=0)
