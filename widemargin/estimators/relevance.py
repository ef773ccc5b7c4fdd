"""Relevance vector machines: models of the form of an SVM, far sparser, with probabilities.

    f(x) = sum_m w_m k(x, x_m) + b,      a Gaussian prior of its own on every weight

Most weights are driven to zero by maximising the evidence (evidence.py); the samples whose weights stay are the
relevance vectors. The kernel need not be positive semi-definite. Source: Tipping (2001).
"""

from __future__ import annotations

import time
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from widemargin._sklearn import Interval, StrOptions, fit_context, safe_indexing
from widemargin.estimators.kernel_system_model import KernelSystemModel
from widemargin.estimators.plain_data import are_plain_labels
from widemargin.estimators.training_set import TrainingSet
from widemargin.gram.budget import cache_budget
from widemargin.gram.tiles import cross_block
from widemargin.kernels import KERNEL_NAMES, Kernel
from widemargin.kernels.names import is_precomputed
from widemargin.monitor.callbacks import Steps
from widemargin.monitor.iteration import of_problem
from widemargin.monitor.status import Status
from widemargin.monitor.user_warning import warn_user
from widemargin.parallel.tiles import resolve_n_jobs, single_threaded_blas
from widemargin.solvers.evidence import SparseModel, maximise_evidence

PROBIT = np.pi / 8.0  # sigmoid(z / sqrt(1 + PROBIT v)) is the mean of a sigmoid over N(z, v) (MacKay 1992)

NO_FUNCTIONS = np.empty(0)
#: the model of a class whose turn has not come: zero
NOT_BEGUN = SparseModel(np.empty(0, np.int64), NO_FUNCTIONS, np.empty((0, 0)), NO_FUNCTIONS, 1.0, 0, Status.STOPPED)

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


class RelevanceMachine(KernelSystemModel):
    """Shared face of RVC and RVR."""

    _kept_private = ("_gamma", "_fitted_kernel", "_used", "_models")
    _parameter_constraints: ClassVar[dict] = {
        **KernelSystemModel._parameter_constraints,
        "kernel": [StrOptions(set(KERNEL_NAMES)), Kernel, callable],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "n_candidates": [Interval(Integral, 1, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }
    _parameter_constraints.pop("solver")

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        n_candidates: int | None = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        time_limit: float | None = None,
        random_state: Any = None,
        cache_size: float | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.n_candidates = n_candidates
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.random_state = random_state
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _basis(self, data: TrainingSet) -> tuple[Matrix, NDArray[np.int64]]:
        """Phi, a constant first if there is an intercept, and the samples that its other columns stand for."""
        n = len(data)
        places = np.arange(n)
        if self.n_candidates is not None and self.n_candidates < n:
            places = np.sort(check_random_state(self.random_state).permutation(n)[: self.n_candidates])
        needed, allowed = 2 * 8 * n * len(places), cache_budget(self.cache_size)
        if needed > allowed:
            raise ValueError(
                f"A relevance vector machine holds a matrix of {n} samples x {len(places)} candidates, "
                f"{needed / 1e9:.1f} GB in all, and {allowed / 1e9:.1f} GB are allowed: set n_candidates to "
                f"{max(1, allowed // (16 * n))} or fewer, or cache_size to more megabytes."
            )
        self._fitted_kernel = self._make_kernel(data)
        samples = self._fitted_kernel.prepare(data.X)
        Phi = np.ones((n, len(places) + self.fit_intercept))
        Phi[:, int(self.fit_intercept) :] = cross_block(
            self._fitted_kernel, samples, samples.take(places), resolve_n_jobs(self.n_jobs)
        )
        return Phi, places

    def _maximise(
        self, data: TrainingSet, places: NDArray[np.int64], Phi: Matrix, columns: Matrix, steps: Steps | None
    ) -> None:
        """Fit and expose one sparse model per column of targets."""

        def expose(machine: RelevanceMachine, models: list[SparseModel]) -> None:
            machine._expose_models(data, places, models)

        started = time.perf_counter()
        deadline = float("inf") if self.time_limit is None else started + self.time_limit
        models = [NOT_BEGUN] * columns.shape[1]
        with self._watching(steps, expose, models) as watch, single_threaded_blas():
            for number, column in enumerate(columns.T):
                models[number] = maximise_evidence(
                    Phi,
                    np.ascontiguousarray(column),
                    classify=is_classifier(self),
                    tol=self.tol,
                    max_iter=self.max_iter,
                    deadline=deadline,
                    watch=of_problem(watch, number, len(models)),
                )
        self._expose_models(data, places, models)
        self._say_how_it_ended()
        if steps is not None:
            steps.finish()

    def _expose_models(self, data: TrainingSet, places: NDArray[np.int64], models: list[SparseModel]) -> None:
        """Relevance vectors of all models together, and each model's weights on them."""
        shift = int(self.fit_intercept)
        kept = np.unique(np.concatenate([model.active[model.active >= shift] - shift for model in models]))
        self.relevance_ = data.given_places(places[kept])
        index = places[kept]
        precomputed = is_precomputed(self.kernel)
        self.relevance_vectors_ = np.empty((0, 0)) if precomputed else safe_indexing(data.X, index)
        self.dual_coef_ = np.zeros((len(models), len(kept)))
        self.intercept_ = np.zeros(len(models))
        self._used: list[NDArray[np.int64]] = []  # columns of the design of new samples that each model reads
        for number, model in enumerate(models):
            is_constant = model.active < shift
            columns = np.searchsorted(kept, model.active[~is_constant] - shift)
            self.dual_coef_[number, columns] = model.mean[~is_constant]
            self.intercept_[number] = model.mean[is_constant].sum()
            self._used.append(np.concatenate([np.zeros(is_constant.sum(), int), columns + 1]))
        self._models = models
        self.n_iter_ = max(1, max(model.iterations for model in models))
        statuses = [model.status for model in models]
        self.status_ = next((status for status in statuses if status is not Status.OPTIMAL), Status.OPTIMAL)

    def _say_how_it_ended(self) -> None:
        """Warn unless the evidence has its maximum."""
        if self.status_ not in (Status.OPTIMAL, Status.STALLED, Status.STOPPED):
            warn_user(
                f"{self.status_.name} after {self.n_iter_} steps, before no precision would change by more than tol="
                f"{self.tol:g}: raise max_iter, time_limit or tol.",
                ConvergenceWarning,
            )

    def _design(self, X: Any) -> Matrix:
        """A constant and the kernel with every relevance vector."""
        X = self._check_new(X)
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        design = np.ones((n, len(self.relevance_) + 1))
        if is_precomputed(self.kernel):
            design[:, 1:] = X[:, self.relevance_]
        elif len(self.relevance_):
            left, right = self._fitted_kernel.prepare_both(X, self.relevance_vectors_)
            design[:, 1:] = cross_block(self._fitted_kernel, left, right, resolve_n_jobs(self.n_jobs))
        return design

    def _means_and_variances(self, X: Any) -> tuple[Matrix, Matrix]:
        """Mean and variance of every model's function, shapes (n_samples, n_models)."""
        design = self._design(X)
        means = design @ np.column_stack([self.intercept_, self.dual_coef_]).T
        variances = np.empty_like(means)
        for number, (model, used) in enumerate(zip(self._models, self._used, strict=True)):
            part = design[:, used]
            variances[:, number] = ((part @ model.covariance) * part).sum(axis=1)
        return means, variances


class RVR(RegressorMixin, RelevanceMachine):
    """Relevance vector regression: a sparse kernel model with error bars and no C or epsilon to choose.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "chi2", "cosine", "precomputed"}, Kernel or callable, \
            default "rbf"
        As in SVR; it need not be positive semi-definite.
    degree, gamma, coef0 : numbers
        Of the named kernels, as in SVR.
    fit_intercept : bool, default True
        Offer a constant among the basis functions.
    n_candidates : int or None, default None
        Samples, drawn at random, that may become relevance vectors; None means all.
    tol : float, default 1e-3
        Stop when no logarithm of a precision would change by more.
    max_iter : int, default 1000
        Largest number of steps.
    time_limit : float or None, default None
        Seconds after which the model so far is returned, with a warning.
    random_state : int, RandomState instance or None, default None
        Of the candidates.
    cache_size : float or None, default None
        Megabytes for the matrix of basis functions; None takes a share of the free memory.
    n_jobs, verbose : as in SVR

    Attributes
    ----------
    relevance_ : int array of shape (n_relevant,)
        Places of the relevance vectors in the training data.
    relevance_vectors_ : array or sparse matrix of shape (n_relevant, n_features)
    dual_coef_ : array of shape (1, n_relevant)
    intercept_ : array of shape (1,)
    noise_variance_ : float
        Variance of the targets about the function.
    n_iter_ : int
    status_ : Status

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import RVR
    >>> X = np.linspace(-10.0, 10.0, 100)[:, None]
    >>> noise = 0.1 * np.random.default_rng(0).normal(size=100)
    >>> model = RVR(gamma=0.1).fit(X, np.sinc(X[:, 0] / np.pi) + noise)
    >>> len(model.relevance_) < 20, bool(abs(model.predict([[0.0]])[0] - 1.0) < 0.1)
    (True, True)
    """

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> RVR:
        """Find the relevance vectors and their weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) if precomputed
            With a kernel function of your own: any sequence of samples.
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        steps = self._begin_steps(X, y)
        data, targets, single = self._read_targets(X, y)
        if not single:
            targets = column_or_1d(targets, warn=True)[:, None]
        Phi, places = self._basis(data)
        self._maximise(data, places, Phi, targets, steps)
        return self

    def _expose_models(self, data: TrainingSet, places: NDArray[np.int64], models: list[SparseModel]) -> None:
        super()._expose_models(data, places, models)
        self.noise_variance_ = 1.0 / models[0].beta

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predicted targets, and on request the standard deviation of a new target, noise included."""
        if not return_std:
            return self._design(X) @ np.append(self.intercept_, self.dual_coef_[0])
        means, variances = self._means_and_variances(X)
        return means[:, 0], np.sqrt(self.noise_variance_ + variances[:, 0])


class RVC(ClassifierMixin, RelevanceMachine):
    """Relevance vector classification: sparser than an SVM, with probabilities and no C to choose.

    Many classes are treated one against the rest, with their probabilities scaled to sum to one.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "chi2", "cosine", "precomputed"}, Kernel or callable, \
            default "rbf"
        As in SVC; it need not be positive semi-definite.
    degree, gamma, coef0 : numbers
        Of the named kernels, as in SVC.
    fit_intercept : bool, default True
        Offer a constant among the basis functions.
    n_candidates : int or None, default None
        Samples, drawn at random, that may become relevance vectors; None means all.
    tol : float, default 1e-3
        Stop when no logarithm of a precision would change by more.
    max_iter : int, default 1000
        Largest number of steps per class.
    time_limit : float or None, default None
        Seconds after which the model so far is returned, with a warning.
    random_state : int, RandomState instance or None, default None
        Of the candidates.
    cache_size : float or None, default None
        Megabytes for the matrix of basis functions; None takes a share of the free memory.
    n_jobs, verbose : as in SVC

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    relevance_ : int array of shape (n_relevant,)
        Places of the relevance vectors of all classes in the training data.
    relevance_vectors_ : array or sparse matrix of shape (n_relevant, n_features)
    dual_coef_ : array of shape (1, n_relevant) for two classes, else (n_classes, n_relevant)
    intercept_ : array of shape (1,) or (n_classes,)
    n_iter_ : int
    status_ : Status

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from widemargin import RVC
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = RVC(gamma=1.0).fit(X, y)
    >>> model.score(X, y) > 0.93, len(model.relevance_) < 20
    (True, True)
    """

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> RVC:
        """Find the relevance vectors and their weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) if precomputed
            With a kernel function of your own: any sequence of samples.
        y : array-like of shape (n_samples,)
            Class labels, numbers or strings.

        Returns
        -------
        self
        """
        steps = self._begin_steps(X, y)
        data = self._read(X, y, None, are_plain_labels)
        labels = data.y if are_plain_labels(data.y, len(data)) else column_or_1d(data.y, warn=True)
        check_classification_targets(labels)
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(self.classes_)} class. A classifier needs "
                "samples of at least two."
            )
        wanted = np.arange(len(self.classes_)) if len(self.classes_) > 2 else np.array([1])
        Phi, places = self._basis(data)
        self._maximise(data, places, Phi, (numbers[:, None] == wanted).astype(float), steps)
        return self

    def decision_function(self, X: Any) -> Vector:
        """Log-odds averaged over the posterior of the weights, shape (n_samples,) or (n_samples, n_classes).

        Where the weights are uncertain, as far from all data, the odds come closer to even.
        """
        means, variances = self._means_and_variances(X)
        values = means / np.sqrt(1.0 + PROBIT * variances)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Any) -> NDArray:
        """Class of each sample."""
        values = self.decision_function(X)
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]

    def predict_proba(self, X: Any) -> Matrix:
        """Probabilities of the classes, shape (n_samples, n_classes)."""
        p = expit(self.decision_function(X))
        if p.ndim == 1:
            return np.column_stack([1.0 - p, p])
        p = np.maximum(p, np.finfo(float).tiny)
        return p / p.sum(axis=1, keepdims=True)
