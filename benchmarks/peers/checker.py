"""Objective and KKT violation of any library's answer, in float64, from the data and the returned numbers alone.

It shares no code with widemargin: plain NumPy, the textbook formulas, every kernel value computed again. With signed
multipliers b_i = y_i alpha_i, the function F = K b and the slope f of the minimised dual

    C-SVC       f = F - y    0 <= y b <= C             sum b = 0            level r = -bias
    SVR         f = F - y    |b| <= C, plus eps |b|    sum b = 0            r = -bias
    one-class   f = F        0 <= b <= 1               sum b = nu n         r = -bias
    nu-SVC      f = F        0 <= y b <= 1             nu m / 2 per class   r = -+ rho - rho bias (model divided by rho)
    nu-SVR      f = F - y    0 <= alpha, alpha* <= C   C nu n / 2 each      r = -bias -+ eps

    violation = max{f : b may fall} - min{f : b may rise} in the worst group, the model's own level r taking part,

which is the quantity LIBSVM's `tol` limits (Fan, Chen & Lin 2005, section 2; Chang & Lin 2011, sections 2 and 4.1.2).

An answer is in LIBSVM's layout: `coefficients` of shape (n_classes - 1, n_SV), pair (i, j) of `classes` positive for
class i; for regression and one-class machines of shape (1, n_SV). `bias` is added to the sum: one per pair, or one.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.peers.problems import Problem

ROW_BLOCK = 256  # rows of the kernel matrix at a time; with COLUMN_BLOCK 1 MB of float64 per thread
COLUMN_BLOCK = 512
DENSE_FEATURES = 2000  # sparse data up to this width are multiplied as dense blocks
DOUBLE_SLACK = 1e-9  # of the box: a multiplier this near to a bound is on it; scaling a nu-machine back rounds
SINGLE_SLACK = 2e-7  # the same for libraries that return float32 numbers
FEASIBLE = 1e-5  # relative: sums kept by float32 arithmetic err by about 1e-6

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Answer:
    """What a library returned, in the layout of the module's header."""

    support: NDArray[np.int64]
    coefficients: Vector
    bias: Vector
    classes: NDArray | None = None
    single: bool = False

    def save(self, path: Any) -> None:
        """Write the numbers; another process reads them."""
        classes = np.empty(0) if self.classes is None else self.classes
        np.savez(
            path,
            support=self.support,
            coefficients=self.coefficients,
            bias=self.bias,
            classes=classes,
            single=self.single,
        )

    @classmethod
    def load(cls, path: Any) -> Answer:
        with np.load(path) as kept:
            classes = kept["classes"]
            return cls(
                kept["support"],
                kept["coefficients"],
                kept["bias"],
                classes if len(classes) else None,
                bool(kept["single"]),
            )

    def same(self, other: Answer | None) -> bool:
        """Whether two answers are equal to the last bit, so that one check serves both."""
        return other is not None and all(
            np.array_equal(mine, theirs)
            for mine, theirs in (
                (self.support, other.support),
                (self.coefficients, other.coefficients),
                (self.bias, other.bias),
            )
        )


@dataclass(frozen=True)
class Check:
    """Figures of one answer. Many classes: worst violation and infeasibility, objectives and free vectors summed."""

    violation: float
    objective: float
    infeasibility: float
    n_support: int
    n_free: int
    seconds: float


def check(problem: Problem, X: Any, y: NDArray, answer: Answer, threads: int = 2) -> Check:
    """Recompute what `Check` holds. `y` may be anything for a one-class machine."""
    began = time.perf_counter()
    evaluate = _Evaluator(problem, X, answer.support, threads)
    slack = SINGLE_SLACK if answer.single else DOUBLE_SLACK
    if problem.machine in ("svc", "nu_svc"):
        parts = _check_classifier(problem, evaluate, y, answer, slack)
    else:
        beta = np.zeros(X.shape[0])
        np.add.at(beta, answer.support, answer.coefficients[0])
        values = evaluate(np.arange(X.shape[0]), answer.coefficients.T)[:, 0]
        parts = [_SINGLE[problem.machine](problem, y, beta, values, float(answer.bias[0]), slack)]
    used = np.abs(answer.coefficients).max(axis=0, initial=0.0) > 0
    return Check(
        violation=max(part[0] for part in parts),
        objective=sum(part[1] for part in parts),
        infeasibility=max(part[2] for part in parts),
        n_support=int(np.count_nonzero(used)),
        n_free=sum(part[3] for part in parts),
        seconds=time.perf_counter() - began,
    )


class _Evaluator:
    """K(rows, support) @ coefficients in blocks, on threads, never the whole matrix."""

    def __init__(self, problem: Problem, X: Any, support: NDArray, threads: int) -> None:
        if sp.issparse(X) and X.shape[1] <= DENSE_FEATURES:
            self.vectors = np.asarray(X[support].toarray(), np.float64)
        else:
            self.vectors = X[support].astype(np.float64)
        self.problem, self.X, self.threads = problem, X, threads
        self.norms = _squares(self.vectors)

    def __call__(self, rows: NDArray, coefficients: Vector) -> Vector:
        values = np.zeros((len(rows), coefficients.shape[1]))

        def fill(start: int) -> None:
            block = self.X[rows[start : start + ROW_BLOCK]]
            if sp.issparse(block) and not sp.issparse(self.vectors):
                block = block.toarray()
            block = block.astype(np.float64)
            for first in range(0, self.vectors.shape[0], COLUMN_BLOCK):
                columns = slice(first, first + COLUMN_BLOCK)
                kernel = self._kernel(block, self.vectors[columns], self.norms[columns])
                values[start : start + ROW_BLOCK] += kernel @ coefficients[columns]

        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(self.threads) as pool:
            list(pool.map(fill, range(0, len(rows), ROW_BLOCK)))
        return values

    def _kernel(self, left: Any, right: Any, right_norms: Vector) -> Vector:
        """A block of kernel values."""
        products = left @ right.T
        products = products.toarray() if sp.issparse(products) else products
        problem = self.problem
        if problem.kernel == "linear":
            return products
        if problem.kernel == "poly":
            return (problem.gamma * products + problem.coef0) ** problem.degree
        products *= 2.0 * problem.gamma
        products -= problem.gamma * _squares(left)[:, None]
        products -= problem.gamma * right_norms
        return np.exp(products, out=products)  # rounding can leave 1 + 1e-16 for equal rows


def _squares(rows: Any) -> Vector:
    """|x|^2 of each row."""
    if sp.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1), np.float64).ravel()
    return np.einsum("ij,ij->i", rows, rows)


Part = tuple[float, float, float, int]  # violation, objective, infeasibility, free


def _check_classifier(problem: Problem, evaluate: _Evaluator, y: NDArray, answer: Answer, slack: float) -> list[Part]:
    """Each pair of classes is a problem of its own."""
    assert answer.classes is not None
    labels = np.searchsorted(np.sort(answer.classes), y)
    place = np.argsort(np.argsort(answer.classes))  # place in the sorted order of each class in the library's order
    count = len(place)
    members = [np.flatnonzero(labels == place[i]) for i in range(count)]
    owner = np.argsort(place)[labels[answer.support]]  # which class, in the library's order, a support vector is of
    values: list[Vector] = []
    for i in range(count):
        weights = np.zeros((len(answer.support), count - 1))
        for j in range(count):
            if j != i:
                column = j if j < i else j - 1
                mine, theirs = owner == i, owner == j
                weights[mine, column] = answer.coefficients[column, mine]
                weights[theirs, column] = answer.coefficients[i if i < j else i - 1, theirs]
        values.append(evaluate(members[i], weights))
    beta = np.zeros((len(y), count - 1))
    beta[answer.support] = answer.coefficients.T
    parts, pair = [], 0
    for i in range(count):
        for j in range(i + 1, count):
            sign = np.concatenate([np.ones(len(members[i])), -np.ones(len(members[j]))])
            own = np.concatenate([beta[members[i], j - 1], beta[members[j], i]])
            function = np.concatenate([values[i][:, j - 1], values[j][:, i]])
            check_pair = _nu_svc if problem.machine == "nu_svc" else _svc
            parts.append(check_pair(problem, sign, own, function, float(answer.bias[pair]), slack))
            pair += 1
    return parts


def _svc(problem: Problem, sign: Vector, beta: Vector, values: Vector, bias: float, slack: float) -> Part:
    lo, hi = np.minimum(0.0, sign * problem.C), np.maximum(0.0, sign * problem.C)
    low, high, free, outside = _extremes(values - sign, beta, lo, hi, 0.0, slack)
    objective = 0.5 * beta @ values - sign @ beta
    return _against(low, high, -bias), float(objective), max(outside, _imbalance(beta, 0.0)), free


def _svr(problem: Problem, y: Vector, beta: Vector, values: Vector, bias: float, slack: float) -> Part:
    bound = np.full(len(y), float(problem.C))
    low, high, free, outside = _extremes(values - y, beta, -bound, bound, problem.epsilon, slack)
    objective = 0.5 * beta @ values - y @ beta + problem.epsilon * np.abs(beta).sum()
    return _against(low, high, -bias), float(objective), max(outside, _imbalance(beta, 0.0)), free


def _one_class(problem: Problem, y: Any, beta: Vector, values: Vector, bias: float, slack: float) -> Part:
    low, high, free, outside = _extremes(values, beta, np.zeros(len(beta)), np.ones(len(beta)), 0.0, slack)
    wanted = problem.nu * len(beta)
    return _against(low, high, -bias), float(0.5 * beta @ values), max(outside, _imbalance(beta, wanted)), free


def _nu_svc(problem: Problem, sign: Vector, beta: Vector, values: Vector, bias: float, slack: float) -> Part:
    """The model was divided by its margin rho; the sum of the multipliers gives rho back."""
    half = problem.nu * len(sign) / 2.0
    rho = 2.0 * half / max(np.abs(beta).sum(), 1e-300)
    beta, values = rho * beta, rho * values
    violation, infeasibility, free = 0.0, 0.0, 0
    for side in (1.0, -1.0):
        own = sign == side
        lo, hi = np.full(own.sum(), min(0.0, side)), np.full(own.sum(), max(0.0, side))
        low, high, some, outside = _extremes(values[own], beta[own], lo, hi, 0.0, slack)
        violation = max(violation, _against(low, high, rho * (side - bias)))
        infeasibility = max(infeasibility, outside, _imbalance(beta[own], side * half))
        free += some
    return violation, float(0.5 * beta @ values), infeasibility, free


def _nu_svr(problem: Problem, y: Vector, beta: Vector, values: Vector, bias: float, slack: float) -> Part:
    """alpha - alpha* = b; where both were nonzero, what is missing from the sums is put back at the smallest errors."""
    half = problem.C * problem.nu * len(y) / 2.0
    above, below = np.maximum(beta, 0.0), np.maximum(-beta, 0.0)
    missing = half - max(above.sum(), below.sum())
    if missing > slack * half:
        order = np.argsort(np.abs(values + bias - y))
        room = problem.C - np.abs(beta[order])
        both = np.clip(missing - (np.cumsum(room) - room), 0.0, room)
        above[order] += both
        below[order] += both
    slope = values - y
    nothing, bound = np.zeros(len(y)), np.full(len(y), float(problem.C))
    low_up, high_up, free_up, out_up = _extremes(slope, above, nothing, bound, 0.0, slack)
    low_down, high_down, free_down, out_down = _extremes(slope, -below, -bound, nothing, 0.0, slack)
    violation = max(0.0, high_up - low_up, high_down - low_down)
    # The tube is not part of the model: some tube must fit, r = -bias - eps and -bias + eps, so their sum is -2 bias.
    if (
        not min(low_up, high_up) + min(low_down, high_down)
        <= -2.0 * bias
        <= max(low_up, high_up) + max(low_down, high_down)
    ):
        violation = max(violation, _against(low_up + low_down, high_up + high_down, -2.0 * bias) / 2.0)
    objective = 0.5 * beta @ values - y @ beta
    infeasible = max(out_up, out_down, _imbalance(above, half), _imbalance(below, half))
    return violation, float(objective), infeasible, free_up + free_down


_SINGLE = {"svr": _svr, "one_class": _one_class, "nu_svr": _nu_svr}


def _extremes(
    slope: Vector, beta: Vector, lo: Vector, hi: Vector, kink: float, slack: float
) -> tuple[float, float, int, float]:
    """Smallest slope that may rise, largest that may fall, number of free multipliers, and the excess over the box."""
    width = hi - lo
    beta = np.where(np.abs(beta) <= slack * width, 0.0, beta)
    rise, fall = beta < hi - slack * width, beta > lo + slack * width
    rising = slope + np.where(beta >= 0.0, kink, -kink)
    falling = slope + np.where(beta > 0.0, kink, -kink)
    low = float(rising[rise].min(initial=np.inf))
    high = float(falling[fall].max(initial=-np.inf))
    outside = float(np.maximum(beta - hi, lo - beta).max(initial=0.0) / max(width.max(initial=0.0), 1e-300))
    return low, high, int(np.count_nonzero(rise & fall & (beta != 0.0))), max(0.0, outside)


def _against(low: float, high: float, level: float) -> float:
    """The violation, with the level the model itself uses: a wrong bias is a wrong model."""
    return max(0.0, high - low, high - level, level - low)


def _imbalance(beta: Vector, wanted: float) -> float:
    """How far a sum is from the one the problem prescribes, relative to the size of the multipliers."""
    return abs(float(beta.sum()) - wanted) / max(float(np.abs(beta).sum()), 1e-300)


def is_feasible(result: Check) -> bool:
    """Whether box and sums are kept as well as float32 arithmetic can."""
    return result.infeasibility <= FEASIBLE


def decision_values(problem: Problem, X: Any, answer: Answer, rows: NDArray, threads: int = 2) -> Vector:
    """Values of a machine with one function (two classes, regression, one class) at some of the samples."""
    return _Evaluator(problem, X, answer.support, threads)(rows, answer.coefficients.T)[:, 0] + answer.bias[0]
