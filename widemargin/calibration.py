"""From decision values to probabilities: a sigmoid per two-class machine, coupled over all classes.

Sigmoid     P(positive | f) = 1 / (1 + exp(A f + B)), with A and B of largest likelihood for the targets
            t+ = (N+ + 1) / (N+ + 2) and t- = 1 / (N- + 2) (Platt 1999), by Newton's method with backtracking in the
            form that neither overflows nor cancels (Lin, Lin & Weng 2007, Machine Learning 68, algorithm 1).
Coupling    p minimises sum_i sum_{j != i} (r_ji p_i - r_ij p_j)^2 on the simplex, r_ij = P(i | i or j)
            (Wu, Lin & Weng 2004, JMLR 5, problem (18)), by the fixed point iteration of their algorithm 2.

Decision values of samples a machine was trained on are too good, so A and B are fitted on values of machines that have
not seen the sample: five folds, each left out once by giving its samples no weight. The held-out samples stay in the
problem with an empty box, so the solver's own F = K b already holds their values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.multiclass import TwoClass

N_FOLDS = 5  # as LIBSVM; Platt's experiments used three
NEWTON_STEPS = 100  # Newton converges in about ten; more means the data are separable and A runs off
SHORTEST_STEP = 1e-10  # line search gives up here: the likelihood is flat to rounding
HESSIAN_RIDGE = 1e-12  # keeps H positive definite when all decision values are equal
GRADIENT_TOL = 1e-5  # of the likelihood per unit of A and B
SMALLEST_PROBABILITY = 1e-7  # pairwise probabilities keep this distance from 0 and 1, so that coupling has a solution
COUPLING_STEPS = 100  # at least; the number of sweeps algorithm 2 needs grows with the classes
COUPLING_TOL = (
    1e-6  # of the optimality conditions, divided by the number of classes; probabilities are then good to 1e-5
)

Vector = NDArray[np.float64]
#: decision values of the given problems, each with the samples of weight > 0 only in training
HeldOutValues = Callable[[Sequence[tuple[TwoClass, Vector]]], Sequence[Vector]]


def fit_sigmoids(
    problems: Sequence[TwoClass],
    labels: NDArray,
    weight: Vector,
    values_without: HeldOutValues,
    seed: np.random.RandomState,
) -> tuple[Vector, Vector]:
    """A and B of each two-class problem from out-of-fold decision values.

    Parameters
    ----------
    problems : the two-class problems of the machine
    labels : class number of each sample
    weight : weight of each sample
    values_without : trains problems with changed weights and returns the decision values of all their samples
    seed : decides the folds

    Returns
    -------
    A, B : arrays of shape (n_problems,)
    """
    fold = assign_folds(labels, seed)
    jobs, places = [], []
    held_out = [np.zeros(len(problem.sign)) for problem in problems]
    for number, problem in enumerate(problems):
        own_fold, own_weight = problem.of(fold), problem.of(weight)
        for left_out in range(N_FOLDS):
            away = own_fold == left_out
            if not away.any():
                continue
            remaining = problem.sign[~away]
            if len(remaining) == 0 or remaining.min() == remaining.max():
                # nothing to tell apart without this fold: the value of the margin on the side that is left
                held_out[number][away] = remaining[0] if len(remaining) else 0.0
                continue
            jobs.append((problem, np.where(away, 0.0, own_weight)))
            places.append((number, away))
    for (number, away), values in zip(places, values_without(jobs), strict=True):
        held_out[number][away] = values[away]
    fitted = [
        fit_sigmoid(values, problem.sign, problem.of(weight))
        for problem, values in zip(problems, held_out, strict=True)
    ]
    return np.array([a for a, _ in fitted]), np.array([b for _, b in fitted])


def assign_folds(labels: NDArray, seed: np.random.RandomState) -> NDArray[np.int64]:
    """Fold of each sample, each class spread evenly over the folds in random order."""
    fold = np.empty(len(labels), np.int64)
    for label in np.unique(labels):
        members = seed.permutation(np.flatnonzero(labels == label))
        fold[members] = np.arange(len(members)) % N_FOLDS
    return fold


@jit
def fit_sigmoid(values: Vector, sign: Vector, weight: Vector) -> tuple[float, float]:
    """A and B of the sigmoid for decision values of samples with sign +1 or -1."""
    n_positive = 0.0
    n_negative = 0.0
    for i in range(len(values)):
        if sign[i] > 0:
            n_positive += weight[i]
        else:
            n_negative += weight[i]
    high = (n_positive + 1.0) / (n_positive + 2.0)
    low = 1.0 / (n_negative + 2.0)
    a = 0.0
    b = np.log((n_negative + 1.0) / (n_positive + 1.0))
    loss = _negative_log_likelihood(values, sign, weight, high, low, a, b)
    for _ in range(NEWTON_STEPS):
        h11, h22, h21, g1, g2 = HESSIAN_RIDGE, HESSIAN_RIDGE, 0.0, 0.0, 0.0
        for i in range(len(values)):
            p, q = _sigmoid_pair(a * values[i] + b)
            target = high if sign[i] > 0 else low
            curvature = weight[i] * p * q
            h11 += values[i] * values[i] * curvature
            h22 += curvature
            h21 += values[i] * curvature
            slope = weight[i] * (target - p)
            g1 += values[i] * slope
            g2 += slope
        if abs(g1) < GRADIENT_TOL and abs(g2) < GRADIENT_TOL:
            break
        determinant = h11 * h22 - h21 * h21
        step_a = -(h22 * g1 - h21 * g2) / determinant
        step_b = -(h11 * g2 - h21 * g1) / determinant
        descent = g1 * step_a + g2 * step_b
        length = 1.0
        while length >= SHORTEST_STEP:
            trial = _negative_log_likelihood(values, sign, weight, high, low, a + length * step_a, b + length * step_b)
            if trial < loss + 1e-4 * length * descent:
                a, b, loss = a + length * step_a, b + length * step_b, trial
                break
            length /= 2.0
        if length < SHORTEST_STEP:
            break
    return a, b


@jit
def _sigmoid_pair(u: float) -> tuple[float, float]:
    """1 / (1 + exp(u)) and its complement, without overflow."""
    if u >= 0:
        e = np.exp(-u)
        return e / (1.0 + e), 1.0 / (1.0 + e)
    e = np.exp(u)
    return 1.0 / (1.0 + e), e / (1.0 + e)


@jit
def _negative_log_likelihood(
    values: Vector, sign: Vector, weight: Vector, high: float, low: float, a: float, b: float
) -> float:
    """sum of t u + log(1 + exp(-u)), written for either sign of u = A f + B."""
    total = 0.0
    for i in range(len(values)):
        u = a * values[i] + b
        target = high if sign[i] > 0 else low
        if u >= 0:
            total += weight[i] * (target * u + np.log1p(np.exp(-u)))
        else:
            total += weight[i] * ((target - 1.0) * u + np.log1p(np.exp(u)))
    return total


def positive_probability(values: Vector, A: Vector, B: Vector) -> Vector:
    """P(positive) of each sample and two-class problem, shape (n_samples, n_problems)."""
    u = np.clip(values * A + B, -700.0, 700.0)  # exp(709) is the largest double
    return 1.0 / (1.0 + np.exp(u))


@jit
def couple_pairs(pairwise: Vector, n_classes: int) -> Vector:
    """Class probabilities, shape (n, n_classes), from P(i | i or j), pairs in the order (0, 1), (0, 2), ..."""
    result = np.empty((len(pairwise), n_classes))
    r = np.zeros((n_classes, n_classes))
    q = np.zeros((n_classes, n_classes))
    qp = np.zeros(n_classes)
    sweeps = max(COUPLING_STEPS, n_classes)
    tolerance = COUPLING_TOL / n_classes
    for row in range(len(pairwise)):
        number = 0
        for i in range(n_classes):
            for j in range(i + 1, n_classes):
                value = min(max(pairwise[row, number], SMALLEST_PROBABILITY), 1.0 - SMALLEST_PROBABILITY)
                r[i, j] = value
                r[j, i] = 1.0 - value
                number += 1
        for i in range(n_classes):
            q[i, i] = 0.0
            for j in range(n_classes):
                if j != i:
                    q[i, i] += r[j, i] * r[j, i]
                    q[i, j] = -r[j, i] * r[i, j]
        p = result[row]
        p[:] = 1.0 / n_classes
        for _ in range(sweeps):
            pqp = 0.0
            for i in range(n_classes):
                qp[i] = 0.0
                for j in range(n_classes):
                    qp[i] += q[i, j] * p[j]
                pqp += p[i] * qp[i]
            worst = 0.0
            for i in range(n_classes):
                worst = max(worst, abs(qp[i] - pqp))
            if worst < tolerance:
                break
            for i in range(n_classes):
                step = (pqp - qp[i]) / q[i, i]
                p[i] += step
                scale = 1.0 / (1.0 + step)
                pqp = (pqp + step * (step * q[i, i] + 2.0 * qp[i])) * scale * scale
                for j in range(n_classes):
                    qp[j] = (qp[j] + step * q[i, j]) * scale
                    p[j] *= scale
    return result


def probabilities(values: Vector, A: Vector, B: Vector, n_classes: int, scheme: str) -> Vector:
    """Class probabilities, shape (n_samples, n_classes), rows summing to one, from decision values of all problems."""
    positive = positive_probability(values, A, B)
    if n_classes == 2:
        return np.column_stack([positive[:, 0], 1.0 - positive[:, 0]])
    if scheme == "ovr":
        total = positive.sum(axis=1, keepdims=True)
        return np.where(total > 0, positive / np.where(total > 0, total, 1.0), 1.0 / n_classes)
    return couple_pairs(np.ascontiguousarray(positive), n_classes)
