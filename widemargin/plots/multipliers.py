"""The multipliers of a fitted model, and the optimality conditions that they have to meet.

With u the position of a sample, alpha its multiplier and C_i its bound, the conditions of Karush, Kuhn and Tucker say

    classifier  u = y f(x)   alpha = 0 where u > 1,   0 <= alpha <= C_i where u = 1,   alpha = C_i where u < 1
    one class   u = f(x)     the same at u = 0
    regression  u = y - f(x) the same on both sides of the tube, alpha - alpha* rising at u = +epsilon and falling at
                             u = -epsilon (Cristianini & Shawe-Taylor 2000, sections 6.1 and 6.2)

Under a squared loss there is no bound: alpha = C_i (1 - u) instead, and likewise outside the tube.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.estimators.fitted import coefficients_of, is_training_data
from widemargin.inspection.pipelines import training_data, unwrap
from widemargin.inspection.verification import narrowest_tube
from widemargin.kernels.names import is_precomputed
from widemargin.linalg.arrays import Vector
from widemargin.models.multiclass import read_out, two_class_problems
from widemargin.plots.reading import check_length, class_numbers, kind_of

AT_BOUND = 1e-6  # relative distance from C at which a multiplier counts as being at its bound
INSIDE_MARGIN = 2e-2  # 1 - y f from which a support vector cannot be on the margin; models are trained to about 1e-3

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Conditions:
    """Position and multiplier of every sample of every problem of a fit (one per pair of classes), joined.

    Attributes
    ----------
    position, multiplier, bound : arrays of shape (m,)
        The u, alpha and C_i above; the bound is infinite for a hard margin and under a squared loss.
    curvature : array of shape (m,)
        1 / C_i under a squared loss, zero otherwise.
    sample : int array of shape (m,)
        Number of the sample in X.
    corners : where the multiplier may take any value: (1,), (0,) or (-epsilon, epsilon)
    kind : "classifier", "one class" or "regressor"
    """

    position: Vector
    multiplier: Vector
    bound: Vector
    curvature: Vector
    sample: NDArray[np.int64]
    corners: tuple[float, ...]
    kind: str

    @property
    def support(self) -> Flags:
        """Where the multiplier is not zero."""
        return self.multiplier != 0.0

    @property
    def at_bound(self) -> Flags:
        """Where the multiplier has reached its bound."""
        return np.abs(self.multiplier) >= self.bound * (1.0 - AT_BOUND)

    @property
    def slack(self) -> Vector:
        """How far a sample is inside the margin or outside the tube; zero where it is neither."""
        if self.kind == "regressor":
            return np.maximum(0.0, np.abs(self.position) - self.corners[-1])
        return np.maximum(0.0, self.corners[0] - self.position)

    @property
    def violation(self) -> Vector:
        """Distance of each position from the positions that its multiplier allows."""
        if self.kind == "regressor":
            above = _one_sided(self.corners[1] - self.position, np.maximum(self.multiplier, 0.0), self)
            below = _one_sided(self.corners[1] + self.position, np.maximum(-self.multiplier, 0.0), self)
            return np.maximum(above, below)
        return _one_sided(self.position - self.corners[0], self.multiplier, self)


def _one_sided(excess: Vector, alpha: Vector, conditions: Conditions) -> Vector:
    """Violation of: excess >= 0 where alpha may rise, excess <= 0 where it may fall."""
    excess = excess + conditions.curvature * alpha
    may_rise = alpha < conditions.bound * (1.0 - AT_BOUND)
    return np.maximum(np.where(may_rise, -excess, 0.0), np.where(alpha > 0.0, excess, 0.0)).clip(0.0)


def conditions_of(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Conditions:
    """Positions and multipliers of a fitted model on its training data.

    Parameters
    ----------
    model : fitted SVC, NuSVC, SVR, NuSVR or OneClassSVM, of widemargin or of scikit-learn, or a pipeline ending in one
    X, y, sample_weight : the data it was fitted on

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVC
    >>> from widemargin.plots.multipliers import conditions_of
    >>> X = np.array([[-1.0], [1.0], [3.0]])
    >>> found = conditions_of(SVC(kernel="linear", C=10.0).fit(X, [0, 1, 1]), X, [0, 1, 1])
    >>> found.position.round(2).tolist(), found.multiplier.round(2).tolist()
    ([1.0, 1.0, 3.0], [0.5, 0.5, 0.0])
    """
    machine, before = unwrap(model)
    inner = training_data(machine, before, X)
    if not has_multipliers(machine):
        raise ValueError(
            f"{type(machine).__name__} keeps no multipliers; this picture needs SVC, NuSVC, SVR, NuSVR or OneClassSVM."
        )
    n_samples = machine.shape_fit_[0]
    if is_training_data(machine, inner) is False:
        raise ValueError(f"X must be the {n_samples} samples the model was fitted on: multipliers belong to them.")
    weight = np.ones(n_samples) if sample_weight is None else np.asarray(sample_weight, np.float64)
    kind = kind_of(machine)
    if kind == "classifier":
        return _of_classifier(machine, inner, class_numbers(machine.classes_, y, n_samples), weight)
    alpha = np.zeros(n_samples)
    alpha[machine.support_] = coefficients_of(machine)[0]
    bound, curvature = _box(machine, weight)
    if kind == "one class":
        position, corners = np.asarray(machine.decision_function(inner)).ravel(), [0.0]
    else:
        position = check_length(y, n_samples).astype(np.float64) - machine.predict(inner)
        tube = tube_of(machine, position, bound)
        corners = [-tube, tube]
    return Conditions(position, alpha, bound, curvature, np.arange(n_samples), tuple(corners), kind)


def _of_classifier(machine: Any, X: Any, labels: NDArray[np.int64], weight: Vector) -> Conditions:
    """All two-class problems of a classifier, one after the other."""
    n_classes, scheme = len(machine.classes_), getattr(machine, "multi_class", "ovo")
    problems = two_class_problems(labels, n_classes, scheme)
    betas = read_out(problems, np.asarray(machine.support_), coefficients_of(machine), labels)
    by_problem = copy.copy(machine)
    by_problem.decision_function_shape = "ovo"
    values = np.asarray(by_problem.decision_function(X)).reshape(len(labels), -1)
    weight = weight * np.asarray(getattr(machine, "class_weight_", np.ones(n_classes)))[labels]
    nu = parameters(machine).get("nu")
    parts = []
    for number, (problem, beta) in enumerate(zip(problems, betas, strict=True)):
        own = problem.of(weight)
        bound, curvature = _box(machine, own)
        if nu is not None:  # divided by the margin rho, which the sum of the multipliers gives back
            bound = own * np.abs(beta).sum() / (nu * own.sum())
        position, sample = problem.sign * problem.of(values[:, number]), problem.of(np.arange(len(labels)))
        parts.append((position, np.abs(beta), bound, curvature, sample))
    position, multiplier, bound, curvature, sample = (np.concatenate(column) for column in zip(*parts))
    return Conditions(position, multiplier, bound, curvature, sample, (1.0,), "classifier")


def _box(machine: Any, weight: Vector) -> tuple[Vector, Vector]:
    """Bound of each multiplier, and 1 / C_i under a squared loss."""
    given = parameters(machine)
    own = given.get("C", 1.0) * weight
    if given.get("loss", "").startswith("squared") or not hasattr(machine, "n_support_"):  # no bounds (LSSVC)
        return np.full(len(weight), np.inf), 1.0 / own
    return own, np.zeros(len(weight))


def parameters(machine: Any) -> dict[str, Any]:
    """Return the parameters of a model; scikit-learn's models also have unrelated nu, C and epsilon as attributes."""
    return machine.get_params(deep=False)


def tube_of(machine: Any, residual: Vector, bound: Vector) -> float:
    """Return the half-width of the tube; for a nu-SVM of scikit-learn, from the share nu of samples outside."""
    given = parameters(machine)
    if "nu" not in given or hasattr(machine, "epsilon_"):
        return float(getattr(machine, "epsilon_", given.get("epsilon", 0.0)))
    return narrowest_tube(np.abs(residual), bound, given["nu"])


def has_multipliers(machine: Any) -> bool:
    """Whether an estimator keeps the multipliers of its training samples."""
    return hasattr(machine, "support_") and hasattr(machine, "dual_coef_")


def bounded_support(machine: Any) -> Flags:
    """Support vectors at their bound, read off the model alone, without its training data.

    A coefficient is compared with C and the class weights. Sample weights are not kept by a model; with two classes
    they show all the same, since a vector at a smaller bound lies clearly inside the margin, and one beyond C on it.
    Of several classes a vector counts as bounded when none of its multipliers is strictly between zero and its bound.
    """
    alpha, given = np.abs(coefficients_of(machine)), parameters(machine)
    if given.get("loss", "").startswith("squared") or not hasattr(machine, "n_support_"):  # no bounds (LSSVC)
        return np.zeros(alpha.shape[1], bool)
    bound, is_classifier = np.full(alpha.shape[1], given.get("C", 1.0)), kind_of(machine) == "classifier"
    if is_classifier and "nu" in given:  # bounded multipliers share the largest value of their row
        top = alpha.max(axis=1, keepdims=True)
        shared = (alpha >= top * (1.0 - AT_BOUND)).sum(axis=1, keepdims=True) > 1
        alpha = np.where(shared, alpha / top, 0.5 * alpha / top)
    elif is_classifier:
        bound = bound * np.repeat(np.asarray(machine.class_weight_), machine.n_support_)
    at_bound = ~((alpha > 0.0) & (alpha < bound * (1.0 - AT_BOUND))).any(axis=0)
    if is_classifier and len(machine.classes_) == 2 and not is_precomputed(machine.kernel):
        sign = np.sign(coefficients_of(machine)[0])
        position = sign * np.asarray(machine.decision_function(machine.support_vectors_))
        beyond = bool((alpha > bound * (1.0 + AT_BOUND)).any())
        inside = position < 1.0 - INSIDE_MARGIN
        at_bound = inside if beyond else at_bound | inside
    return np.asarray(at_bound)
