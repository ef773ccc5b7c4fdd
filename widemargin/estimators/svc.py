"""C-classification: the soft-margin machine, its hard-margin limit, and the 2-norm soft margin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widemargin.estimators.base import Vector
from widemargin.estimators.classifier import KernelClassifier
from widemargin.estimators.parameters import POSITIVE_OR_INFINITE, one_of, option
from widemargin.problems.classification import hinge, squared_hinge
from widemargin.problems.dual import SignedDual


@dataclass(kw_only=True, eq=False, repr=False)
class SVC(KernelClassifier):
    """Support vector classification with penalty C: the parameters of scikit-learn's SVC, and some more.

        minimise  1/2 |w|^2 + C sum_i xi_i,    y_i (w'phi(x_i) + b) >= 1 - xi_i,  xi_i >= 0

    Parameters
    ----------
    C : float, default 1.0
        Weight of the errors; larger fits the training data more closely. np.inf asks for a hard margin, which exists
        only for separable data.
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
        Factor on C of each class. "balanced" is n_samples / (n_classes * count of the class), with weights.
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
    loss : {"hinge", "squared_hinge"}, default "hinge"
        "squared_hinge" charges C xi_i^2 / 2 instead (2-norm soft margin).
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
        What is proven about the answer, rounding counted: `holds` means that the violation (or gap) is at most tol. For
        kernels not known to be positive semi-definite it is about the violation alone. `certificates_` has one per
        two-class machine.
    status_ : Status
        How the solver ended; `fit_status_` is 0 if it met the tolerance, else 1.
    diagnosis_ : str
        Likely causes where the tolerance was not met, empty otherwise.
    history_ : dict of arrays
        With trace=True: objective, gap, violation and more after every round of the solver, one column each.

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
        bound = self.C * weight if np.isfinite(self.C) else np.where(weight > 0, np.inf, 0.0)  # not inf * 0
        return squared_hinge(sign, bound) if self.loss == "squared_hinge" else hinge(sign, bound)
