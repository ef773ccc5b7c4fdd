"""Relevance vector machines: models of the form of an SVM, far sparser, with probabilities.

    f(x) = sum_m w_m k(x, x_m) + b,      a Gaussian prior of its own on every weight

Most weights are driven to zero by maximising the evidence (evidence.py); the samples whose weights stay are the
relevance vectors. The kernel need not be positive semi-definite. Source: Tipping (2001).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import RegressorMixin, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from widemargin._sklearn import num_samples, safe_indexing
from widemargin.estimators.kernel_estimator import LimitedFit, NamedKernel
from widemargin.estimators.labels import OneAgainstRest
from widemargin.estimators.parameters import estimator, option, whole
from widemargin.estimators.plain_data import are_plain_labels
from widemargin.estimators.restored import check_places, check_samples, check_shape, is_finite
from widemargin.estimators.training_set import TrainingSet
from widemargin.estimators.whole_fit import whole_fit
from widemargin.gram.budget import cache_budget
from widemargin.gram.tiles import cross_block
from widemargin.kernels.names import is_precomputed
from widemargin.linalg.arrays import Matrix, Vector
from widemargin.monitor.callbacks import Steps
from widemargin.monitor.interrupt import CtrlC
from widemargin.monitor.iteration import of_problem
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.monitor.user_warning import warn_user
from widemargin.parallel.tiles import resolve_n_jobs, single_threaded_blas
from widemargin.solvers.evidence import SparseModel, maximise_evidence

PROBIT = np.pi / 8.0  # sigmoid(z / sqrt(1 + PROBIT v)) is the mean of a sigmoid over N(z, v) (MacKay 1992)

NO_FUNCTIONS = np.empty(0)
#: zero model, for a class that has not been fitted yet
NOT_BEGUN = SparseModel(np.empty(0, np.int64), NO_FUNCTIONS, np.empty((0, 0)), NO_FUNCTIONS, 1.0, 0, Status.STOPPED)


@estimator
class RelevanceMachine(NamedKernel, LimitedFit):
    """Base of RVC and RVR.

    fit_intercept : bool, default True
        Include a constant among the basis functions.
    n_candidates : int or None, default None
        Samples, drawn at random, that may become relevance vectors; None means all.
    tol : float, default 1e-3
        Stop when no logarithm of a precision would change by more than this.
    time_limit : float or None, default None
        Seconds after which the model so far is returned, with a warning.
    random_state : int, RandomState instance or None, default None
        Of the candidates.
    cache_size : float or None, default None
        Megabytes for the matrix of basis functions; None takes a share of the free memory.
    relevance_vectors_ : array or sparse matrix of shape (n_relevant, n_features)
    """

    fit_intercept: bool = option(True, "boolean")
    n_candidates: int | None = option(None, whole(1), None)
    max_iter: int = option(1000, whole(1))
    random_state: Any = option(None, "random_state")

    _kept_private = ("_gamma", "_fitted_kernel", "_used", "_models")

    def _basis(self, data: TrainingSet) -> tuple[Matrix, NDArray[np.int64]]:
        """Return Phi, with a constant first column if there is an intercept, and the samples of all other columns."""
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

    def _maximise(self, data: TrainingSet, columns: Matrix, steps: Steps | None) -> None:
        """Fit and expose one sparse model per column of targets."""
        Phi, places = self._basis(data)

        def expose(machine: RelevanceMachine, models: list[SparseModel]) -> None:
            machine._expose_models(data, places, models)

        deadline = Stopping(time_limit=self.time_limit).deadline()
        models = [NOT_BEGUN] * columns.shape[1]
        ctrl_c = CtrlC()
        watching = self._watching(steps, expose, models, others=[ctrl_c.listener])
        with ctrl_c, watching as watch, single_threaded_blas():
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
            expose(self, models)
        self._raise_if_interrupted(ctrl_c.presses > 0)
        if self.status_ not in (Status.OPTIMAL, Status.STALLED, Status.STOPPED):
            warn_user(
                f"{self.status_.name} after {self.n_iter_} steps, before no precision would change by more than tol="
                f"{self.tol:g}: raise max_iter, time_limit or tol.",
                ConvergenceWarning,
            )

    def _expose_models(self, data: TrainingSet, places: NDArray[np.int64], models: list[SparseModel]) -> None:
        """Expose the union of the relevance vectors of all models, and the weights of each model on them."""
        shift = int(self.fit_intercept)
        kept = np.unique(np.concatenate([model.active[model.active >= shift] - shift for model in models]))
        index = places[kept]
        self.relevance_ = data.given_places(index)
        self.relevance_vectors_ = np.empty((0, 0)) if is_precomputed(self.kernel) else safe_indexing(data.X, index)
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
        others = (model.status for model in models if model.status is not Status.OPTIMAL)
        self.status_ = next(others, Status.OPTIMAL)

    def _rebuild(self) -> None:
        """Check attributes that did not come from `fit`."""
        n_models, n_vectors = len(self._models), len(self.relevance_)
        n_classes = len(self.classes_) if hasattr(self, "classes_") else 2
        if n_models != (1 if n_classes == 2 else n_classes) or len(self._used) != n_models:
            raise ValueError(f"{n_models} models are not those of {n_classes} classes")
        check_shape("dual_coef_", self.dual_coef_, (n_models, n_vectors))
        check_shape("intercept_", self.intercept_, (n_models,))
        check_samples(self, self.relevance_vectors_, n_vectors, "relevance vectors")
        check_places("relevance_", self.relevance_, self.shape_fit_[0])
        for model, used in zip(self._models, self._used):
            if not isinstance(model, SparseModel) or not is_finite(model.beta):
                raise ValueError("_models must be sparse models")
            n_used = len(check_places("_used", used, n_vectors + 1))
            check_shape("the covariance of a model", model.covariance, (n_used, n_used))
        _ = self._fitted_kernel

    def _design(self, X: Any) -> Matrix:
        """Return the design matrix: a constant, and the kernel with every relevance vector."""
        X = self._read_to_predict(X)
        design = np.ones((num_samples(X), len(self.relevance_) + 1))
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


@estimator
class RVR(RegressorMixin, RelevanceMachine):
    """Relevance vector regression: a sparse kernel model with error bars and no C or epsilon to choose.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "chi2", "cosine", "precomputed"}, Kernel or callable, \
            default "rbf"
        As in SVR; it need not be positive semi-definite.
    degree, gamma, coef0 : numbers
        Of the named kernels, as in SVR.
    ... fit_intercept, n_candidates, tol
    max_iter : int, default 1000
        Largest number of steps.
    ... time_limit, on_interrupt, random_state, cache_size
    n_jobs, verbose : as in SVR

    Attributes
    ----------
    relevance_ : int array of shape (n_relevant,)
        Indices of the relevance vectors in the training data.
    ... relevance_vectors_
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

    @whole_fit
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
        with self._reporting(X, y) as steps:
            data, y = self._read_column(X, y)
            self._maximise(data, y[:, None], steps)
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


@estimator
class RVC(OneAgainstRest, RelevanceMachine):
    """Relevance vector classification: sparser than an SVM, with probabilities and no C to choose.

    More than two classes are treated one against the rest, with their probabilities scaled to sum to one.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "chi2", "cosine", "precomputed"}, Kernel or callable, \
            default "rbf"
        As in SVC; it need not be positive semi-definite.
    degree, gamma, coef0 : numbers
        Of the named kernels, as in SVC.
    ... fit_intercept, n_candidates, tol
    max_iter : int, default 1000
        Largest number of steps per class.
    ... time_limit, on_interrupt, random_state, cache_size
    n_jobs, verbose : as in SVC

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    relevance_ : int array of shape (n_relevant,)
        Indices of the relevance vectors of all classes in the training data.
    ... relevance_vectors_
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

    @whole_fit
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
        with self._reporting(X, y) as steps:
            data = self._read(X, y, None, are_plain_labels)
            self._maximise(data, np.maximum(self._signs(self._read_classes(data)), 0.0), steps)
        return self

    def decision_function(self, X: Any) -> Vector:
        """Log-odds averaged over the posterior of the weights, shape (n_samples,) or (n_samples, n_classes).

        Where the weights are uncertain, for example far from all data, the odds are closer to even.
        """
        means, variances = self._means_and_variances(X)
        values = means / np.sqrt(1.0 + PROBIT * variances)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict_proba(self, X: Any) -> Matrix:
        """Probabilities of the classes, shape (n_samples, n_classes)."""
        p = expit(self.decision_function(X))
        if p.ndim == 1:
            return np.column_stack([1.0 - p, p])
        p = np.maximum(p, np.finfo(float).tiny)
        return p / p.sum(axis=1, keepdims=True)
