"""Check a fitted model, ours or scikit-learn's, against its training data: rebuild the problem, certify the answer.

Only public attributes are used: support_, dual_coef_, intercept_ and the parameters. The signed multipliers
are read back from dual_coef_, the thresholds r from intercept_, so that a wrong bias shows as a violation:

    SVC, SVR, OneClassSVM   b = dual_coef,  r = -intercept
    NuSVC                   the model was divided by its margin rho, unless that was zero to rounding; the multipliers
                            of a problem sum to nu m in absolute value, which gives rho back; r = -rho intercept +- rho
    NuSVR                   alpha and alpha* from the signs of b; the tube is the model's epsilon_, or the share nu of
                            the absolute errors; r = -intercept -+ epsilon
    fixed bias              (solver="adatron" and similar) there is no threshold; the intercept must be tau^2 sum b, and
                            a difference counts as violation
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_array

from widemargin import problems
from widemargin._sklearn import num_samples
from widemargin.certificate import Certificate, certify_function, combine
from widemargin.certificate.bounds import FEASIBILITY
from widemargin.estimators.fitted import coefficients_of, is_training_data, support_in
from widemargin.estimators.registry import LIBSVM_TYPES
from widemargin.estimators.training_set import TrainingSet, leave_out_weightless, resolve_gamma
from widemargin.gram.gram import kernel_scores
from widemargin.gram.scores import Scores
from widemargin.inspection.libsvm_support import knows_its_vectors_only, with_support
from widemargin.inspection.pipelines import training_data, unwrap
from widemargin.kernels import Kernel, make_kernel
from widemargin.kernels.errors import UNIT
from widemargin.kernels.kernel import Samples
from widemargin.kernels.names import is_precomputed, takes_objects
from widemargin.linalg.arrays import Index, Vector
from widemargin.linalg.exchange import as_numpy
from widemargin.linalg.sparse_structure import sound_sparse
from widemargin.models.multiclass import read_out, two_class_problems
from widemargin.monitor.status import Status
from widemargin.parallel.tiles import available_cores, single_threaded_blas
from widemargin.problems import SignedDual
from widemargin.problems.classification import box_of, fill_up, largest_nu
from widemargin.problems.fixed_bias import tau_of, without_bias
from widemargin.problems.warm_start import SAME
from widemargin.solvers import solver_named
from widemargin.storage.errors import ModelError
from widemargin.training.indefinite import block_of, is_indefinite, sampled


def verify(model: Any, X: Any, y: Any = None, sample_weight: Any = None, *, tol: float | None = None) -> Certificate:
    """Return the certificate of a fitted model, computed in float64 from its public attributes and its training data.

    Parameters
    ----------
    model : fitted SVC, NuSVC, SVR, NuSVR or OneClassSVM of widemargin or of scikit-learn, or a pipeline or search
        around one, whose steps before it prepare X. A model read from LIBSVM's file knows neither which samples are its
        support vectors, which are looked for in X, nor C, nu and epsilon: give them by its `set_params`
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
    model, before = unwrap(model)
    machine = machine_of(model)
    X = training_data(model, before, X)
    model, kernel, data = _read(model, X, y, sample_weight, needs_targets=machine != "OneClassSVM")
    samples, tau2 = kernel.prepare(data.X, np.float64), None
    solve = solver_named(getattr(model, "solver", "auto"))
    if machine in ("SVC", "SVR") and getattr(solve, "fixed_bias", False):
        tau2 = tau_of(solve, kernel.diag(samples)) ** 2
        kernel = kernel + tau2
        samples = kernel.prepare(data.X, np.float64)
    return FittedModel(machine, model, kernel, data, samples, float(model.tol if tol is None else tol), tau2).verify()


def machine_of(model: Any) -> str:
    """Return which of the five SVM classes a model is an instance of, by the names of its class and base classes."""
    for kind in type(model).__mro__:
        if kind.__name__ in LIBSVM_TYPES:
            return kind.__name__
    raise ModelError(
        f"verify recomputes the certificates of {', '.join(LIBSVM_TYPES)} of widemargin and scikit-learn; got "
        f"{type(model).__name__}, whose certificate_, if it has one, was computed by fit."
    )


def _read(model: Any, X: Any, y: Any, sample_weight: Any, needs_targets: bool) -> tuple[Any, Kernel, TrainingSet]:
    """Return the model, its kernel and its training samples of positive weight."""
    precomputed = is_precomputed(model.kernel)
    X, y, sample_weight = as_numpy(X), as_numpy(y), as_numpy(sample_weight)
    if not takes_objects(model.kernel):
        X = check_array(sound_sparse(X), accept_sparse=False if precomputed else "csr", dtype=(np.float64, np.float32))
    n_samples = num_samples(X)
    has_targets = not needs_targets or (y is not None and len(y) == n_samples)  # else an error says so below
    if has_targets and knows_its_vectors_only(model, n_samples) and is_training_data(model, X) is not True:
        model = with_support(model, X, y)
    data = training_set(model, X, n_samples, y, sample_weight, needs_targets, precomputed)
    return model, kernel_of(model, lambda: resolve_gamma(model.gamma, X, None)), data


def training_set(
    model: Any, X: Any, n_samples: int, y: Any, sample_weight: Any, needs_targets: bool, precomputed: bool
) -> TrainingSet:
    """Return the samples of positive weight; raise ValueError if they cannot be those of the fit."""
    if needs_targets and (y is None or len(y) != n_samples):
        raise ValueError(f"y must hold the {n_samples} targets the model was fitted on.")
    if n_samples != model.shape_fit_[0]:
        raise ValueError(
            f"X has {n_samples} samples, but the model was fitted on {model.shape_fit_[0]}: give its training data."
        )
    y = np.asarray(y) if needs_targets else None
    if sample_weight is not None:
        sample_weight = np.maximum(np.asarray(sample_weight, np.float64), 0.0)  # scikit-learn drops negative weights
    return leave_out_weightless(X, y, sample_weight, n_samples, precomputed)


def kernel_of(model: Any, gamma_of_data: Callable[[], float]) -> Kernel:
    """Return the model's kernel, with the gamma of its fit."""
    gamma = getattr(model, "_gamma", None)
    if gamma is None:
        gamma = gamma_of_data() if isinstance(model.kernel, str) and not is_precomputed(model.kernel) else 0.0
    return make_kernel(model.kernel, gamma=gamma, degree=model.degree, coef0=model.coef0)


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted model and its training samples of positive weight.

    tau2 : tau^2 where the bias is penalised; `kernel` is then K + tau^2, whose model without groups has the bias
        tau^2 sum b
    """

    machine: str
    model: Any
    kernel: Kernel
    data: TrainingSet
    samples: Samples
    tol: float
    tau2: float | None

    def verify(self) -> Certificate:
        """Return the certificate."""
        is_classifier = self.machine in ("SVC", "NuSVC")
        return combine(self.verify_classifier() if is_classifier else [self.verify_single()], len(self.model.support_))

    def function(self, index: Index | None, coefficients: Vector) -> tuple[Scores, float]:
        """Return K b at some samples (None: all), of coefficients of these samples, and the largest k(x, x)."""
        samples = self.samples if index is None else self.samples.take(index)
        support = np.flatnonzero(coefficients)
        with single_threaded_blas():
            vectors = samples.take(support)
            scores = kernel_scores(self.kernel, samples, vectors, coefficients[support], available_cores())
        return scores, float(np.max(self.kernel.diag(samples), initial=0.0))

    @property
    def near(self) -> float:
        """Relative distance from a bound due to rounding; LIBSVM's sums drift and are rescaled."""
        return SAME if hasattr(self.model, "certificate_") else FEASIBILITY

    def verify_classifier(self) -> list[Certificate]:
        """One certificate per two-class problem."""
        model, data, is_nu = self.model, self.data, self.machine == "NuSVC"
        labels = np.searchsorted(model.classes_, data.y)
        if not np.array_equal(model.classes_[np.minimum(labels, len(model.classes_) - 1)], data.y):
            raise ValueError(f"y holds labels the model does not know; its classes are {list(model.classes_)}.")
        n_classes, scheme = len(model.classes_), getattr(model, "multi_class", "ovo")
        weight = data.weights()
        if not is_nu or hasattr(model, "certificate_"):  # scikit-learn's NuSVC ignores class_weight
            weight = weight * model.class_weight_[labels]
        pairs = two_class_problems(labels, n_classes, scheme)
        betas = read_out(pairs, support_in(model, data), coefficients_of(model), labels)
        certificates = []
        for problem, coefficients, bias in zip(pairs, betas, model.intercept_, strict=True):
            own = problem.of(weight)
            if is_nu:
                certificates.append(self.verify_nu_pair(problem.sign, own, problem.index, coefficients, bias))
                continue
            bound = box_of(model.C, own)
            squared = getattr(model, "loss", "hinge") == "squared_hinge"
            dual = (problems.squared_hinge if squared else problems.hinge)(problem.sign, bound)
            certificates.append(self.certify(dual, problem.index, coefficients, np.array([-bias])))
        return certificates

    def verify_nu_pair(
        self, sign: Vector, weight: Vector, index: Index | None, coefficients: Vector, bias: float
    ) -> Certificate:
        """Certificate of a two-class problem of a NuSVC."""
        nu = self.model.nu if self.model.class_weight is None else min(self.model.nu, largest_nu(sign, weight))
        dual = problems.nu_classification(sign, nu, weight)
        total = np.abs(coefficients).sum()
        margin = nu * weight.sum() / total if total > 0 else 1.0
        beta = margin * dual.per_variable(coefficients)
        certificate = self.certify(dual, index, beta, margin * np.array([1.0 - bias, -1.0 - bias]))
        if certificate.holds or abs(margin - 1.0) > FEASIBILITY:
            return certificate
        # A model whose margin is zero to rounding is not divided by it: half the distance of its thresholds is free.
        best = self.certify(dual, index, beta, None).level
        half = 0.5 * (best[0] - best[1])
        return self.certify(dual, index, beta, np.array([half - bias, -half - bias]))

    def verify_single(self) -> Certificate:
        """Certificate of a regression or a one-class model."""
        model, data = self.model, self.data
        support = support_in(model, data)
        coefficients = np.zeros(len(data))
        coefficients[support] = coefficients_of(model)[0]
        bias = float(np.asarray(model.intercept_).ravel()[0])
        weight = data.weights()
        if self.machine == "OneClassSVM":
            return self.certify(problems.one_class(weight, model.nu), None, coefficients, np.array([-bias]))
        y = np.asarray(data.y, np.float64)
        bound = model.C * weight
        if self.machine == "SVR":
            squared = getattr(model, "loss", "epsilon_insensitive") == "squared_epsilon_insensitive"
            build = problems.squared_epsilon_insensitive if squared else problems.epsilon_insensitive
            return self.certify(build(y, bound, model.epsilon), None, coefficients, np.array([-bias]))
        error = np.abs(self.function(None, coefficients)[0].values + bias - y)
        beta = _split(coefficients, bound, model.nu * bound.sum() / 2.0, error)
        tube = model.epsilon_ if hasattr(model, "epsilon_") else narrowest_tube(error, bound, model.nu)
        dual = problems.nu_regression(y, bound, model.nu)
        return self.certify(dual, None, beta, np.array([-bias - tube, -bias + tube]), coefficients)

    def certify(
        self,
        dual: SignedDual,
        index: Index | None,
        beta: Vector,
        thresholds: Vector | None,
        coefficients: Vector | None = None,
    ) -> Certificate:
        """Certificate at the model's own thresholds; a penalised bias that is wrong adds its error to every slope.

        index : samples of the problem; None means all
        coefficients : b of each sample where beta has it only up to rounding: two large variables of one sample
        """
        if self.tau2 is not None:
            dual = without_bias(dual)
        exact = _on_bounds(dual, beta, self.near)
        scores, diagonal = self.function(index, dual.per_sample(exact) if coefficients is None else coefficients)
        certificate = certify_function(
            dual, exact, scores, self.tol, thresholds=thresholds if dual.n_groups else None,
            criterion=getattr(self.model, "stopping", "kkt"), is_psd=self.kernel.is_psd, diagonal=diagonal,
        )  # fmt: skip
        if self.is_indefinite(dual, index, beta):
            certificate = replace(certificate, status=Status.INDEFINITE)
        if self.tau2 is None or thresholds is None:
            return certificate
        bias = self.tau2 * math.fsum(beta)
        wrong = abs(-float(thresholds[0]) - bias) + 8.0 * UNIT * abs(bias)
        return replace(
            certificate,
            violation=certificate.violation + (wrong if wrong >= 0.0 else float("inf")),
            computed=certificate.computed + wrong,
        )

    def is_indefinite(self, dual: SignedDual, index: Index | None, beta: Vector) -> bool:
        """Whether the fit of this problem ends, or ended, with the status INDEFINITE."""
        if self.kernel.is_psd:
            return False
        if getattr(self.model, "status_", None) is Status.INDEFINITE:
            return True
        places = sampled(dual.n_samples)
        K = block_of(self.kernel, self.samples, places if index is None else index[places])
        return is_indefinite(dual, places, K, dual.per_sample(beta), self.tol)


def _on_bounds(dual: SignedDual, beta: Vector, near: float) -> Vector:
    """Return the multipliers, with those within rounding of a bound moved to it; none is small enough to be zero."""
    for bound in (dual.lower, dual.upper):
        with np.errstate(invalid="ignore"):
            beta = np.where(np.abs(beta - bound) <= near * np.abs(beta), bound, beta)
    return beta


def _split(coefficients: Vector, bound: Vector, half: float, error: Vector) -> Vector:
    """alpha and -alpha* of nu-regression from their difference.

    Both halves must sum to `half`. At most one of a pair is nonzero unless the tube has no width; then the difference
    is added to both, at the samples with the smallest error, which does not change the function.
    """
    above, below = np.maximum(coefficients, 0.0), np.maximum(-coefficients, 0.0)
    missing = half - max(above.sum(), below.sum())
    if missing > FEASIBILITY * half:
        order = np.argsort(error)
        both = np.empty(len(error))
        both[order] = fill_up((bound - np.abs(coefficients))[order], missing)
        above, below = above + both, below + both
    return np.concatenate([above, -below])


def narrowest_tube(error: Vector, bound: Vector, nu: float) -> float:
    """Return the half-width of the best tube for given errors: a share nu of the total weight lies outside."""
    order = np.argsort(-error)
    outside = np.cumsum(bound[order])
    place = int(np.searchsorted(outside, nu * outside[-1] * (1.0 - FEASIBILITY)))
    return float(error[order[min(place, len(error) - 1)]])
