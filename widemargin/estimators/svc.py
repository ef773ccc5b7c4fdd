"""C-classification (soft margin, its hard-margin limit, 2-norm soft margin), and nu-classification.

In nu-classification, nu bounds the share of support vectors and replaces the penalty C.
"""

from __future__ import annotations

import numpy as np

from widemargin.estimators.base import Vector
from widemargin.estimators.classifier import KernelClassifier
from widemargin.estimators.parameters import POSITIVE_OR_INFINITE, SHARE, estimator, one_of, option
from widemargin.monitor.stopping import Stopping
from widemargin.monitor.user_warning import warn_user
from widemargin.problems.classification import box_of, hinge, largest_nu, nu_classification, nu_margin, squared_hinge
from widemargin.problems.dual import SignedDual

SMALLEST_MARGIN = 1e-12  # relative to the thresholds: below, the classes are not separated and the model is not scaled


@estimator
class SVC(KernelClassifier):
    """Support vector classification with penalty C: the parameters of scikit-learn's SVC, and some more.

        minimise  1/2 |w|^2 + C sum_i xi_i,    y_i (w'phi(x_i) + b) >= 1 - xi_i,  xi_i >= 0

    Parameters
    ----------
    C : float, default 1.0
        Weight of the errors; a larger C fits the training data more closely. np.inf means a hard margin, which exists
        only for separable data.
    ... kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size
    class_weight : dict, "balanced" or None, default None
        Factor on C of each class. "balanced" is n_samples / (n_classes * count of the class), where a
        sample counts with its weight (scikit-learn: as one).
    ... verbose, max_iter, decision_function_shape, break_ties, random_state
    loss : {"hinge", "squared_hinge"}, default "hinge"
        "squared_hinge" charges C xi_i^2 / 2 instead (2-norm soft margin).
    ... multi_class, solver, stopping, time_limit, on_interrupt, n_jobs, warm_start, trace, checkpoint

    Attributes
    ----------
    ... support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, classes_, n_iter_, probA_, n_features_in_
    certificate_ : Certificate
        Proven bounds, rounding counted: `holds` means that the violation (or gap) is at most tol. For
        kernels not known to be positive semi-definite it refers to the violation only. `certificates_` has one per
        two-class model.
    ... status_, diagnosis_, history_

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVC
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> machine = SVC(kernel="linear").fit(X, ["low", "low", "high", "high"])
    >>> machine.predict([[-0.8, -1.0]]).tolist()
    ['low']
    >>> machine.certificate_.holds
    True
    """

    C: float = option(1.0, POSITIVE_OR_INFINITE)
    loss: str = option("hinge", one_of("hinge", "squared_hinge"))

    _builds_by_sample = True

    def _build(self, sign: Vector, weight: Vector) -> SignedDual:
        bound = box_of(self.C, weight)
        return squared_hinge(sign, bound) if self.loss == "squared_hinge" else hinge(sign, bound)


@estimator
class NuSVC(KernelClassifier):
    """Support vector classification in which nu bounds the share of support vectors and of margin errors.

        minimise  1/2 |w|^2 - nu n rho + sum_i xi_i,    y_i (w'phi(x_i) + b) >= rho - xi_i,  xi_i >= 0

    after which w, b and xi are divided by the margin rho.

    Parameters
    ----------
    nu : float in (0, 1], default 0.5
        Upper bound on the share of margin errors and lower bound on the share of support vectors.
    ... kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size
    class_weight : dict, "balanced" or None, default None
        Factor on the weight of each class. "balanced" is n_samples / (n_classes * count of the class), where a
        sample counts with its weight (scikit-learn: as one).
        Where the factors make `nu` infeasible, the largest feasible value is used, with a warning, and the lighter
        class gives way to the heavier one. scikit-learn ignores this parameter.
    ... verbose, max_iter, decision_function_shape, break_ties, random_state
    ... multi_class, solver, stopping, time_limit, on_interrupt, n_jobs, warm_start, trace, checkpoint

    Attributes
    ----------
    ... support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, classes_, n_iter_, probA_, n_features_in_
    certificate_ : Certificate
        What is proven about the answer, rounding counted (see `SVC`); `certificates_` has one per two-class model.
    ... status_, diagnosis_, history_

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import NuSVC
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> NuSVC(kernel="linear").fit(X, [1, 1, 2, 2]).predict([[-0.8, -1.0]]).tolist()
    [1]
    """

    nu: float = option(0.5, SHARE)

    _about_one_class = ", so that the specified nu is infeasible"

    def _build(self, sign: Vector, weight: Vector) -> SignedDual:
        nu = self.nu
        if self.class_weight is not None:
            nu = min(nu, largest_nu(sign, weight))
            if nu < self.nu:
                warn_user(
                    f"With these class weights nu can be at most {nu:.6g}, which is used in place of nu={self.nu:g}: "
                    "the lighter class has no room for more support vectors, and gives way to the heavier one. Lower "
                    "nu, or use class weights closer to each other.",
                    UserWarning,
                )
        return nu_classification(sign, nu, weight)

    def _multipliers_from(self, dual: SignedDual, coefficients: Vector) -> Vector:
        """Undo the division by the margin: the sum of the multipliers was nu times the weight of the samples."""
        total = np.abs(coefficients).sum()
        return dual.per_variable(coefficients) * (np.abs(dual.start).sum() / total if total > 0 else 1.0)

    def _rule(self, stopping: Stopping, weight: Vector) -> Stopping:
        return stopping.relative_to(weight)

    def _margin(self, dual: SignedDual, thresholds: Vector) -> tuple[float, float]:
        margin, bias = nu_margin(thresholds if self.class_weight is None else _give_way(dual, self.nu, thresholds))
        largest = max(float(dual.upper.max(initial=0.0)), -float(dual.lower.min(initial=0.0)))
        overflows = np.finfo(float).tiny * largest  # margins so small that a division would overflow
        is_zero = margin <= max(SMALLEST_MARGIN * abs(thresholds).max(), overflows)
        return (1.0, bias) if is_zero else (margin, bias)


def _give_way(dual: SignedDual, nu: float, thresholds: Vector) -> Vector:
    """Levels where class weights leave no room for nu: the lighter class gives way, in proportion to what is missing.

    With every multiplier of the lighter class at its bound, its threshold may be any value beyond the one found, all
    equally good: the margin has no upper end. It is made nu / (largest nu) times as wide; at the largest nu nothing
    changes, and a class of almost no weight is given up, as C-classification with the same weights does.
    """
    starts = dual.group_starts
    room = np.array([(dual.upper - dual.lower)[starts[g] : starts[g + 1]].sum() for g in range(2)])
    lighter = int(room.argmin())
    excess = nu * room.sum() / (2.0 * room[lighter])
    if excess <= 1.0:
        return thresholds
    moved = thresholds.copy()
    moved[lighter] += (1 if lighter == 0 else -1) * (excess - 1.0) * abs(thresholds[0] - thresholds[1])
    return moved
