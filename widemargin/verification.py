"""Check a fitted machine, ours or scikit-learn's, against its training data: rebuild the problem, certify the answer.

Only the public face of the model is used: support_, dual_coef_, intercept_ and its parameters. The signed multipliers
are read back from dual_coef_, the levels r of the problem from intercept_, so that a wrong bias shows as a violation:

    SVC, SVR, OneClassSVM   b = dual_coef,  r = -intercept
    NuSVC                   the model was divided by its margin rho, unless that was zero to rounding; the multipliers
                            of a problem sum to nu m in absolute value, which gives rho back; r = -rho intercept +- rho
    NuSVR                   alpha and alpha* from the signs of b; the tube is the model's epsilon_, or the share nu of
                            the absolute errors; r = -intercept -+ epsilon
    fixed bias              (solver="adatron" and similar) there is no level; the intercept must be tau^2 sum b, and a
                            difference counts as violation
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from widemargin import problems
from widemargin._sklearn import num_samples, safe_indexing
from widemargin.certificate import Certificate, certify, combine
from widemargin.estimators.fitted import coefficients_of, support_in
from widemargin.estimators.registry import LIBSVM_TYPES
from widemargin.estimators.training_set import TrainingSet, leave_out_weightless, resolve_gamma
from widemargin.kernels import Kernel, make_kernel
from widemargin.kernels.errors import UNIT
from widemargin.kernels.kernel import Samples
from widemargin.kernels.names import is_precomputed, takes_objects
from widemargin.models.expansion import Expansion
from widemargin.models.multiclass import read_out, two_class_problems
from widemargin.parallel.tiles import available_cores
from widemargin.problems import SignedDual
from widemargin.problems.classification import fill_up, largest_nu
from widemargin.problems.fixed_bias import safe_tau, without_bias
from widemargin.solvers import solver_named

ROUNDING = 1e-9  # relative: a multiplier this close to a bound is on it; LIBSVM's sums drift, scaling them back rounds
OWN_ROUNDING = 1e-13  # the same for models of this package, which assign bounds and keep sums

Vector = NDArray[np.float64]


def verify(model: Any, X: Any, y: Any = None, sample_weight: Any = None, *, tol: float | None = None) -> Certificate:
    """Certificate of a fitted machine, computed afresh in float64 from its public attributes and its training data.

    Parameters
    ----------
    model : fitted SVC, NuSVC, SVR, NuSVR or OneClassSVM of widemargin or of scikit-learn
    X, y, sample_weight : the data the model was fitted on
    tol : float, default the model's own
        Largest violation with which the certificate holds.

    Returns
    -------
    certificate : Certificate
        For several classes the worst of the two-class problems, objectives added up.

    Examples
    --------
    >>> import numpy as np
    >>> import sklearn.svm
    >>> import widemargin
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> model = sklearn.svm.SVC(kernel="linear").fit(X, [0, 0, 1, 1])
    >>> widemargin.verify(model, X, [0, 0, 1, 1]).holds
    True
    >>> model.intercept_ += 0.1
    >>> widemargin.verify(model, X, [0, 0, 1, 1]).holds
    False
    """
    machine = _machine_of(model)
    check_is_fitted(model)
    kernel, data = _read(model, X, y, sample_weight, needs_targets=machine != "OneClassSVM")
    samples = kernel.prepare(data.X, np.float64)
    tol = float(model.tol) if tol is None else float(tol)
    if machine in ("SVC", "NuSVC"):
        certificates = _verify_classifier(machine, model, kernel, samples, data, tol)
    else:
        certificates = [_verify_single(machine, model, kernel, samples, data, tol)]
    if getattr(model, "stopping", "kkt") == "gap":
        certificates = [replace(certificate, criterion="gap") for certificate in certificates]
    return combine(certificates)


def _machine_of(model: Any) -> str:
    """Which of the five machines a model is, by the name of its class or of a class it derives from."""
    for kind in type(model).__mro__:
        if kind.__name__ in LIBSVM_TYPES:
            return kind.__name__
    raise TypeError(
        f"verify knows the machines {', '.join(LIBSVM_TYPES)} of widemargin and scikit-learn; got "
        f"{type(model).__name__}."
    )


def _read(model: Any, X: Any, y: Any, sample_weight: Any, needs_targets: bool) -> tuple[Kernel, TrainingSet]:
    """The model's kernel and the samples that took part in its training."""
    precomputed = is_precomputed(model.kernel)
    if not takes_objects(model.kernel):
        X = check_array(X, accept_sparse=False if precomputed else "csr", dtype=(np.float64, np.float32))
    n_samples = num_samples(X)
    if n_samples != model.shape_fit_[0]:
        raise ValueError(
            f"X has {n_samples} samples, but the model was fitted on {model.shape_fit_[0]}: give its training data."
        )
    if needs_targets and (y is None or len(y) != n_samples):
        raise ValueError(f"y must hold the {n_samples} targets the model was fitted on.")
    y = np.asarray(y) if needs_targets else None
    if sample_weight is not None:
        sample_weight = np.maximum(np.asarray(sample_weight, np.float64), 0.0)  # scikit-learn drops negative weights
    data = leave_out_weightless(X, y, sample_weight, n_samples, precomputed)
    gamma = getattr(model, "_gamma", None)
    if gamma is None:
        gamma = resolve_gamma(model.gamma, X, None) if isinstance(model.kernel, str) and not precomputed else 0.0
    return make_kernel(model.kernel, gamma=gamma, degree=model.degree, coef0=model.coef0), data


def _verify_classifier(
    machine: str, model: Any, kernel: Kernel, samples: Samples, data: TrainingSet, tol: float
) -> Sequence[Certificate]:
    """One certificate per two-class problem."""
    labels = np.searchsorted(model.classes_, data.y)
    if not np.array_equal(model.classes_[np.minimum(labels, len(model.classes_) - 1)], data.y):
        raise ValueError(f"y holds labels the model does not know; its classes are {list(model.classes_)}.")
    n_classes, scheme = len(model.classes_), getattr(model, "multi_class", "ovo")
    weight = data.weights()
    if machine == "SVC" or hasattr(model, "certificate_"):  # scikit-learn's NuSVC ignores class_weight
        weight = weight * model.class_weight_[labels]
    pairs = two_class_problems(labels, n_classes, scheme)
    betas = read_out(pairs, support_in(model, data), coefficients_of(model), labels)
    certificates = []
    for problem, coefficients, bias in zip(pairs, betas, model.intercept_, strict=True):
        own = problem.of(weight)
        if machine == "NuSVC":
            nu = model.nu if model.class_weight is None else min(model.nu, largest_nu(problem.sign, own))
            dual = problems.nu_classification(problem.sign, nu, own)
            total = np.abs(coefficients).sum()
            margin = nu * own.sum() / total if total > 0 else 1.0
            beta, level = margin * dual.per_variable(coefficients), margin * np.array([1.0 - bias, -1.0 - bias])
        else:
            bound = model.C * own if np.isfinite(model.C) else np.full(len(own), np.inf)
            squared = getattr(model, "loss", "hinge") == "squared_hinge"
            dual = (problems.squared_hinge if squared else problems.hinge)(problem.sign, bound)
            dual = without_bias(dual) if _has_fixed_bias(model) else dual
            beta, level = coefficients, np.array([-bias])
        part = samples if problem.index is None else samples.take(problem.index)
        beta = _on_bounds(dual, beta, _nearness(model))
        certificate = _certify(dual, kernel, part, beta, level, tol, whole=samples)
        if machine == "NuSVC" and abs(margin - 1.0) <= ROUNDING and not certificate.holds:
            # A model whose margin is zero to rounding is not divided by it: half the distance of its levels is free.
            best = certify(dual, kernel, part, beta, tol, n_threads=available_cores()).level
            half = 0.5 * (best[0] - best[1])
            certificate = _certify(dual, kernel, part, beta, np.array([half - bias, -half - bias]), tol)
        certificates.append(certificate)
    return certificates


def _verify_single(
    machine: str, model: Any, kernel: Kernel, samples: Samples, data: TrainingSet, tol: float
) -> Certificate:
    """Certificate of a regression or a one-class machine."""
    support = support_in(model, data)
    coefficients = np.zeros(len(data))
    coefficients[support] = coefficients_of(model)[0]
    bias = float(np.asarray(model.intercept_).ravel()[0])
    weight, near = data.weights(), _nearness(model)
    if machine == "OneClassSVM":
        dual = problems.one_class(weight, model.nu)
        return _certify(dual, kernel, samples, _on_bounds(dual, coefficients, near), np.array([-bias]), tol)
    y = np.asarray(data.y, np.float64)
    bound = model.C * weight
    if machine == "SVR":
        squared = getattr(model, "loss", "epsilon_insensitive") == "squared_epsilon_insensitive"
        build = problems.squared_epsilon_insensitive if squared else problems.epsilon_insensitive
        dual = build(y, bound, model.epsilon)
        dual = without_bias(dual) if _has_fixed_bias(model) else dual
        return _certify(dual, kernel, samples, _on_bounds(dual, coefficients, near), np.array([-bias]), tol)
    vectors = support if is_precomputed(model.kernel) else safe_indexing(data.X, support)
    expansion = Expansion(kernel, vectors, coefficients[None, support], np.array([bias]))
    error = np.abs(expansion.decision(data.X)[:, 0] - y)
    beta = _split(coefficients, bound, model.nu * bound.sum() / 2.0, error)
    tube = model.epsilon_ if hasattr(model, "epsilon_") else narrowest_tube(error, bound, model.nu)
    level = np.array([-bias - tube, -bias + tube])
    dual = problems.nu_regression(y, bound, model.nu)
    return _certify(dual, kernel, samples, _on_bounds(dual, beta, near), level, tol, coefficients)


def _certify(
    dual: SignedDual,
    kernel: Kernel,
    samples: Samples,
    beta: Vector,
    level: Vector,
    tol: float,
    coefficients: Vector | None = None,
    whole: Samples | None = None,
) -> Certificate:
    """Certificate at the model's own levels.

    Without groups the bias is that of the kernel K + tau^2, tau^2 sum b, with tau the largest |x| of all samples of the
    fit (`whole`); one that differs adds the difference to every slope.
    """
    if dual.n_groups:
        return certify(
            dual, kernel, samples, beta, tol, level=level, coefficients=coefficients, n_threads=available_cores()
        )
    tau2 = safe_tau(kernel.diag(samples if whole is None else whole)) ** 2
    certificate = certify(dual, kernel, samples, beta, tol, constant=tau2, n_threads=available_cores())
    bias = tau2 * math.fsum(beta)
    wrong = abs(-float(level[0]) - bias) + 8.0 * UNIT * abs(bias)
    return replace(
        certificate,
        violation=certificate.violation + (wrong if wrong >= 0.0 else float("inf")),
        computed=certificate.computed + wrong,
    )


def _nearness(model: Any) -> float:
    """Relative distance from a bound that is nothing but rounding."""
    return OWN_ROUNDING if hasattr(model, "certificate_") else ROUNDING


def _on_bounds(dual: SignedDual, beta: Vector, near: float) -> Vector:
    """The multipliers with those that differ from a bound by rounding put on it; none is small enough to be zero."""
    for bound in (dual.lower, dual.upper):
        with np.errstate(invalid="ignore"):
            beta = np.where(np.abs(beta - bound) <= near * np.abs(beta), bound, beta)
    return beta


def _has_fixed_bias(model: Any) -> bool:
    """Whether the model's solver gave it a bias that is penalised like any weight."""
    return bool(getattr(solver_named(getattr(model, "solver", "auto")), "fixed_bias", False))


def _split(coefficients: Vector, bound: Vector, half: float, error: Vector) -> Vector:
    """alpha and -alpha* of nu-regression from their difference.

    Both halves must sum to `half`. At most one of a pair is nonzero unless the tube has no width; then what is missing
    goes to both, at the samples with the smallest error, which leaves the function as it is.
    """
    above, below = np.maximum(coefficients, 0.0), np.maximum(-coefficients, 0.0)
    missing = half - max(above.sum(), below.sum())
    if missing > ROUNDING * half:
        order = np.argsort(error)
        both = np.empty(len(error))
        both[order] = fill_up((bound - np.abs(coefficients))[order], missing)
        above, below = above + both, below + both
    return np.concatenate([above, -below])


def narrowest_tube(error: Vector, bound: Vector, nu: float) -> float:
    """Half-width of the best tube for given errors: samples with a share nu of the total weight lie outside."""
    order = np.argsort(-error)
    outside = np.cumsum(bound[order])
    place = int(np.searchsorted(outside, nu * outside[-1] * (1.0 - ROUNDING)))
    return float(error[order[min(place, len(error) - 1)]])
