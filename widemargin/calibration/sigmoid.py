"""From decision values to probabilities: a sigmoid per two-class model, coupled over all classes.

Sigmoid     P(positive | f) = 1 / (1 + exp(A f + B)), with A and B of largest likelihood for the targets
            t+ = (N+ + 1) / (N+ + 2) and t- = 1 / (N- + 2) (Platt 1999), by Newton's method with backtracking in the
            form that neither overflows nor cancels (Lin, Lin & Weng 2007, Machine Learning 68, algorithm 1).
Coupling    p minimises sum_i sum_{j != i} (r_ji p_i - r_ij p_j)^2 on the simplex, r_ij = P(i | i or j)
            (Wu, Lin & Weng 2004, JMLR 5, problem (18)). Bounds p >= 0 never bind (their theorem 2), so that p solves
            the linear system  Q p + b 1 = 0,  sum p = 1  with Q_ii = sum_{j != i} r_ji^2 and Q_ij = -r_ji r_ij.

Agreement   where the coupled probabilities prefer another class than `predict` does (its votes or, with two classes,
            its sign), they are replaced by the nearest distribution in which the predicted class is first.

Where A and B come from inside SVC and NuSVC: calibration/held_out.py. For decision values of your own: `PlattScaling`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from widemargin._jit import REASSOCIATE, jit
from widemargin.gram.gram import ROW_TILE
from widemargin.kernels.exponential import exp_nonpositive
from widemargin.linalg.arrays import Vector

NEWTON_STEPS = 100  # Newton converges in about ten; more means that the data are separable and A diverges
SHORTEST_STEP = 1e-10  # smallest step of the line search: below, the likelihood is flat to rounding
HESSIAN_RIDGE = 1e-12  # keeps H positive definite when all decision values are equal
GRADIENT_TOL = 1e-5  # of the likelihood per unit of A and B
LARGE_PRODUCT = 1e300  # factors are at most 2
SMALLEST_PROBABILITY = 1e-7  # pairwise probabilities keep this distance from 0 and 1, so that coupling has a solution
AHEAD = 1e-9  # lead of a predicted class that had to be put first: no tie, and no visible difference


class PlattScaling(BaseEstimator):
    """Probabilities from decision values of any model: the composable form of `SVC(probability=True)`.

    Use decision values of samples that the model was not trained on, for example from
    `sklearn.model_selection.cross_val_predict(machine, X, y, method="decision_function")`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    A_, B_ : arrays of shape (n_machines,)
        P(positive) = 1 / (1 + exp(A f + B)) for each column of decision values.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.calibration import PlattScaling
    >>> values = np.array([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0])
    >>> scaling = PlattScaling().fit(values, ["no", "no", "yes", "no", "yes", "yes"])
    >>> scaling.predict_proba([-3.0, 3.0]).round(2).tolist()
    [[0.87, 0.13], [0.13, 0.87]]
    """

    def fit(self, values: Any, y: Any, sample_weight: Any = None) -> PlattScaling:
        """Fit the sigmoids.

        Parameters
        ----------
        values : array-like of shape (n_samples,), or (n_samples, n_pairs) for several classes
            Decision values; of several classes one against one, as `decision_function_shape="ovo"` gives them.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default None

        Returns
        -------
        self
        """
        self.classes_, labels = np.unique(column_or_1d(y), return_inverse=True)
        values = self._columns(values)
        if len(labels) != len(values):
            raise ValueError(f"values has {len(values)} rows and y {len(labels)}: give one label per row.")
        weight = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        n_classes = len(self.classes_)
        pairs = [(1, 0)] if n_classes == 2 else list(zip(*np.triu_indices(n_classes, 1)))
        fitted = []
        for column, (positive, negative) in zip(values.T, pairs, strict=True):
            own = (labels == positive) | (labels == negative)
            sign = np.where(labels[own] == positive, 1.0, -1.0)
            fitted.append(fit_sigmoid(np.ascontiguousarray(column[own]), sign, weight[own]))
        self.A_, self.B_ = np.array(fitted).T
        return self

    def predict_proba(self, values: Any) -> Vector:
        """Probability of each class, shape (n_samples, n_classes), from decision values shaped as in `fit`."""
        check_is_fitted(self)
        n_classes = len(self.classes_)
        result = probabilities(self._columns(values), self.A_, self.B_, n_classes, "ovo")
        return result[:, ::-1] if n_classes == 2 else result  # the second of two classes is positive

    def _columns(self, values: Any) -> Vector:
        """Return the values as one column per two-class model."""
        values = np.asarray(values, np.float64)
        values = values[:, None] if values.ndim == 1 else values
        n_classes = len(self.classes_)
        wanted = n_classes * (n_classes - 1) // 2
        if n_classes < 2 or values.ndim != 2 or values.shape[1] != wanted or not np.isfinite(values).all():
            raise ValueError(
                f"Expected finite decision values with {wanted} columns, one per pair of the {n_classes} classes; got "
                f"shape {values.shape}. For several classes use decision_function_shape='ovo'."
            )
        return values


@jit
def fit_sigmoid(values: Vector, sign: Vector, weight: Vector) -> tuple[float, float]:
    """A and B of the sigmoid for decision values of samples with sign +1 or -1."""
    n_positive, n_negative = weight[sign > 0].sum(), weight[sign <= 0].sum()
    target = np.where(sign > 0, (n_positive + 1.0) / (n_positive + 2.0), 1.0 / (n_negative + 2.0))
    a = 0.0
    b = np.log((n_negative + 1.0) / (n_positive + 1.0))
    work = np.empty(len(values))
    loss, g1, g2, h11, h21, h22 = negative_log_likelihood(values, target, weight, a, b, work)
    for _ in range(NEWTON_STEPS):
        if abs(g1) < GRADIENT_TOL and abs(g2) < GRADIENT_TOL:
            break
        h11, h22 = h11 + HESSIAN_RIDGE, h22 + HESSIAN_RIDGE
        determinant = h11 * h22 - h21 * h21
        step_a = -(h22 * g1 - h21 * g2) / determinant
        step_b = -(h11 * g2 - h21 * g1) / determinant
        descent = g1 * step_a + g2 * step_b
        length = 1.0
        while length >= SHORTEST_STEP:
            at_a, at_b = a + length * step_a, b + length * step_b
            trial = negative_log_likelihood(values, target, weight, at_a, at_b, work)
            if trial[0] < loss + 1e-4 * length * descent:
                break
            length /= 2.0
        if length < SHORTEST_STEP:
            break
        a, b = at_a, at_b
        loss, g1, g2, h11, h21, h22 = trial
    return a, b


@jit
def negative_log_likelihood(
    values: Vector, target: Vector, weight: Vector, a: float, b: float, work: Vector
) -> tuple[float, float, float, float, float, float]:
    """sum of t u + log(1 + exp(-u)), u = A f + B, its derivatives by A and B, and the second ones: AA, AB, BB.

    Sums of logarithms are logarithms of products, taken where the weight changes or the product grows large: that
    leaves a loop without calls, and A and B of 1,500 samples take 0.05 ms instead of 0.3 (`work` is its scratch).
    """
    for i in range(values.shape[0]):
        u = a * values[i] + b
        work[i] = exp_nonpositive(-u if u > 0.0 else u)
    sums = sigmoid_sums(values, target, weight, a, b, work)
    logarithms = 0.0
    product = 1.0
    for i in range(values.shape[0]):
        product *= 1.0 + work[i]
        if product > LARGE_PRODUCT or i + 1 == values.shape[0] or weight[i + 1] != weight[i]:
            logarithms += weight[i] * np.log(product)
            product = 1.0
    return sums[0] + logarithms, sums[1], sums[2], sums[3], sums[4], sums[5]


@jit(fastmath=REASSOCIATE)
def sigmoid_sums(
    values: Vector, target: Vector, weight: Vector, a: float, b: float, work: Vector
) -> tuple[float, float, float, float, float, float]:
    """All sums of `negative_log_likelihood` except that of the logarithms, from exp(-|u|) in `work`."""
    loss = g1 = g2 = h11 = h21 = h22 = 0.0
    for i in range(values.shape[0]):
        f, e = values[i], work[i]
        u = a * f + b
        share = 1.0 / (1.0 + e)
        p = e * share if u > 0.0 else share  # 1 / (1 + exp(u)), without overflow
        curvature = weight[i] * e * share * share
        slope = weight[i] * (target[i] - p)
        loss += weight[i] * (target[i] * u if u > 0.0 else (target[i] - 1.0) * u)
        g1 += f * slope
        g2 += slope
        h11 += f * f * curvature
        h21 += f * curvature
        h22 += curvature
    return loss, g1, g2, h11, h21, h22


def couple_pairs(pairwise: Vector, n_classes: int) -> Vector:
    """Class probabilities, shape (n, n_classes), from P(i | i or j), pairs in the order (0, 1), (0, 2), ..."""
    result = np.empty((len(pairwise), n_classes))
    first, second = np.triu_indices(n_classes, 1)
    right = np.append(np.zeros(n_classes), 1.0)[:, None]
    for start in range(0, len(pairwise), ROW_TILE):
        rows = slice(start, start + ROW_TILE)
        value = np.clip(pairwise[rows], SMALLEST_PROBABILITY, 1.0 - SMALLEST_PROBABILITY)
        r = np.zeros((len(value), n_classes, n_classes))
        r[:, first, second], r[:, second, first] = value, 1.0 - value
        Q = -r * r.transpose(0, 2, 1)
        Q[:, range(n_classes), range(n_classes)] = np.square(r).sum(axis=1)
        system = np.pad(Q, ((0, 0), (0, 1), (0, 1)), constant_values=1.0)
        system[:, -1, -1] = 0.0
        p = np.maximum(np.linalg.solve(system, right)[:, :-1, 0], 0.0)
        result[rows] = p / p.sum(axis=1, keepdims=True)
    return result


def probabilities(values: Vector, A: Vector, B: Vector, n_classes: int, scheme: str) -> Vector:
    """Class probabilities, shape (n_samples, n_classes), rows summing to one, from decision values of all problems."""
    positive = expit(-(values * A + B))
    if n_classes == 2:
        return np.column_stack([positive[:, 0], 1.0 - positive[:, 0]])
    if scheme == "ovr":
        total = positive.sum(axis=1, keepdims=True)
        return np.where(total > 0, positive / np.where(total > 0, total, 1.0), 1.0 / n_classes)
    return couple_pairs(positive, n_classes)


def agreeing_with(predicted: NDArray[np.intp], probability: Vector) -> Vector:
    """The nearest probabilities whose largest one is that of the predicted class, rows changed only where they differ.

    The predicted class and those above it get a common value, their mean: the largest of the means of the predicted
    class and the m most probable others, since the next one raises the mean if it is above it.
    """
    rows = np.flatnonzero(probability.argmax(axis=1) != predicted)
    p = probability[rows]
    first = np.arange(len(rows)), predicted[rows]
    order = p.copy()
    order[first] = np.inf
    means = np.take_along_axis(p, np.argsort(-order, axis=1), axis=1).cumsum(axis=1) / np.arange(1, p.shape[1] + 1)
    p = np.minimum(p, (1.0 - AHEAD) * means.max(axis=1, keepdims=True))
    p[first] = 0.0
    p[first] = 1.0 - p.sum(axis=1)
    result = probability.copy()
    result[rows] = p
    return result
