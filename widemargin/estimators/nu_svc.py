"""nu-classification: the share of support vectors is set instead of the penalty C."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widemargin.estimators.base import Vector
from widemargin.estimators.classifier import KernelClassifier
from widemargin.estimators.parameters import SHARE, option
from widemargin.monitor.stopping import Stopping
from widemargin.monitor.user_warning import warn_user
from widemargin.problems.classification import largest_nu, nu_classification, nu_margin
from widemargin.problems.dual import SignedDual

SMALLEST_MARGIN = 1e-12  # of the levels: below it the classes are not separated and the machine is left unscaled
LARGEST_COEFFICIENT = 1e300  # that a multiplier may become when it is divided by the margin


@dataclass(kw_only=True, eq=False, repr=False)
class NuSVC(KernelClassifier):
    """Support vector classification in which nu bounds the share of support vectors and of margin errors.

        minimise  1/2 |w|^2 - nu n rho + sum_i xi_i,    y_i (w'phi(x_i) + b) >= rho - xi_i,  xi_i >= 0

    and then everything is divided by the margin rho.

    Parameters
    ----------
    nu : float in (0, 1], default 0.5
        Upper bound on the share of margin errors and lower bound on the share of support vectors.
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "chi2", "cosine", "precomputed"}, Kernel or callable, \
            default "rbf"
        A `Kernel` carries its own parameters. A callable is a function of two sets of samples, m and n of them,
        that returns an array of shape (m, n). With "precomputed" X is the kernel matrix itself.
    degree : int, default 3
        Degree of "poly".
    gamma : {"scale", "auto"} or float, default "scale"
        Scale of "rbf", "poly", "sigmoid", "laplacian" and "chi2". "scale" is 1 / (n_features * variance of X),
        the variance counted with the sample weights; "auto" is 1 / n_features.
    coef0 : float, default 0.0
        Constant of "poly" and "sigmoid".
    shrinking : bool, default True
        Accepted for compatibility; the solver decides by itself.
    probability : bool, default "deprecated", which means False
        Fit sigmoids for `predict_proba` by five-fold cross-validation.
    tol : float, default 1e-3
        Tolerance of the stop rule; see `stopping`.
    cache_size : float or None, default None
        Megabytes for rows of the kernel matrix; None sizes it to the free memory.
    class_weight : dict, "balanced" or None, default None
        Factor on the weight of each class. "balanced" is n_samples / (n_classes * count of the class), with weights.
        Where the factors leave no room for `nu`, the largest possible one takes its place, with a warning, and the
        lighter class gives way to the heavier one.
        scikit-learn ignores this parameter.
    verbose : bool, default False
        Show a progress bar.
    max_iter : int, default -1
        Largest number of steps, -1 for no limit.
    decision_function_shape : {"ovr", "ovo"}, default "ovr"
        Shape of `decision_function` for more than two classes.
    break_ties : bool, default False
        Break ties between votes by the decision values.
    random_state : int, RandomState instance or None, default None
        Folds of `probability=True`.
    multi_class : {"ovo", "ovr"}, default "ovo"
        Train a machine for each pair of classes, or one for each class against the rest.
    solver : str or solver, default "auto"
        "auto" is the fast block solver; "platt", "keerthi", "chunking", "qp" and others are those of the literature,
        by name or as an object with options (`widemargin.solvers.reference`).
    stopping : {"kkt", "gap", "objective"}, default "kkt"
        What `tol` limits: the largest violation of the optimality conditions, the relative duality gap, or the growth
        of the dual objective. Kernels not known to be positive semi-definite are trained by the first in any case.
    time_limit : float or None, default None
        Seconds after which the best machine so far is returned, with a warning.
    n_jobs : int or None, default None
        Threads; None means all cores.
    warm_start : bool, default False
        Start from the multipliers of the previous fit when the number of samples is the same.
    trace : bool, default False
        Keep how the fit went in `history_`.

    Attributes
    ----------
    support_ : int array of shape (n_SV,)
        Places of the support vectors in the training data, class by class.
    support_vectors_ : array or CSR matrix of shape (n_SV, n_features)
    n_support_ : int array of shape (n_classes,)
    dual_coef_ : array or CSR matrix of shape (n_classes - 1, n_SV)
        Coefficients in the decision function, in LIBSVM's layout for more than two classes; (n_classes, n_SV) with
        multi_class="ovr". Positive for classes_[1] when there are two.
    intercept_ : array of shape (n_classes * (n_classes - 1) / 2,), or (n_classes,) with multi_class="ovr"
    coef_ : array of shape (n_machines, n_features)
        Weights of the features; only for a linear kernel.
    classes_, class_weight_ : arrays of shape (n_classes,)
    n_iter_ : int array of shape (n_machines,)
        Steps of the solver.
    probA_, probB_ : arrays of shape (n_machines,)
        Sigmoids of `predict_proba`, empty without probability=True. For two classes they belong to the negative of
        `decision_function`, as in scikit-learn.
    n_features_in_, feature_names_in_, shape_fit_
        As in scikit-learn.
    certificate_ : Certificate
        What is proven about the answer, rounding counted (see `SVC`); `certificates_` has one per two-class machine.
    status_ : Status
        How the solver ended; `fit_status_` is 0 if it met the tolerance, else 1.
    diagnosis_ : str
        Likely causes where the tolerance was not met, empty otherwise.
    history_ : dict of arrays
        With trace=True: objective, gap, violation and more after every round of the solver, one column each.

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
        """Coefficients were divided by the margin; their sum was nu times the weight of the samples."""
        total = np.abs(coefficients).sum()
        return dual.per_variable(coefficients) * (np.abs(dual.start).sum() / total if total > 0 else 1.0)

    def _rule(self, stopping: Stopping, weight: Vector) -> Stopping:
        return stopping.relative_to(weight)

    def _margin(self, dual: SignedDual, level: Vector) -> tuple[float, float]:
        margin, bias = nu_margin(level if self.class_weight is None else _give_way(dual, self.nu, level))
        largest = max(float(dual.upper.max(initial=0.0)), -float(dual.lower.min(initial=0.0)))
        is_zero = margin <= SMALLEST_MARGIN * abs(level).max() or margin * LARGEST_COEFFICIENT <= largest
        return (1.0, bias) if is_zero else (margin, bias)


def _give_way(dual: SignedDual, nu: float, level: Vector) -> Vector:
    """Levels where class weights leave no room for nu: the lighter class gives way, in proportion to what is missing.

    With every multiplier of the lighter class at its bound, its level may be any value beyond the one found, all
    equally good: the margin has no upper end. It is made nu / (largest nu) times as wide; at the largest nu nothing
    changes, and a class of almost no weight is given up, as C-classification with the same weights does.
    """
    starts = dual.group_starts
    room = np.array([(dual.upper - dual.lower)[starts[g] : starts[g + 1]].sum() for g in range(2)])
    lighter = int(room.argmin())
    excess = nu * room.sum() / (2.0 * room[lighter])
    if excess <= 1.0:
        return level
    moved = level.copy()
    moved[lighter] += (1 if lighter == 0 else -1) * (excess - 1.0) * abs(level[0] - level[1])
    return moved
