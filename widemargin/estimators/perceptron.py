"""The kernel perceptron as an estimator of scikit-learn: fit, partial_fit, decision values, and the mistake bound."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_consistent_length

from widemargin._sklearn import num_samples, safe_indexing
from widemargin.estimators.fitted import checked_vectors, finite_matrix
from widemargin.estimators.kernel_estimator import NamedKernel
from widemargin.estimators.labels import OneAgainstRest, checked_labels
from widemargin.estimators.parameters import estimator, one_of, option, whole
from widemargin.estimators.plain_data import are_plain_labels
from widemargin.estimators.training_set import TrainingSet, stack_samples
from widemargin.estimators.whole_fit import whole_fit
from widemargin.gram.gram import kernel_product
from widemargin.kernels import KERNEL_NAMES, Kernel, Precomputed
from widemargin.linalg.arrays import Vector
from widemargin.models.expansion import Expansion
from widemargin.models.perceptron_history import History
from widemargin.monitor.callbacks import Steps, attributes_set
from widemargin.parallel.tiles import resolve_n_jobs, single_threaded_blas
from widemargin.training.mistake_bound import MistakeBound, bound_mistakes

CHUNK = 512  # samples whose kernel values are held in memory at a time


@estimator
class KernelPerceptron(OneAgainstRest, NamedKernel):
    """Learn from mistakes only: whenever a sample is on the wrong side, its feature vector is added to the weights.

    Samples are visited one by one, so it can also learn from a stream (`partial_fit`). Several classes are learned
    one against the rest.

    Parameters
    ----------
    kernel : str, Kernel or callable, default "rbf"
        As in `SVC`, apart from "precomputed".
    degree, gamma, coef0
        Parameters of kernels given by name, as in `SVC`; gamma="scale" is computed from the first samples seen.
    variant : {"averaged", "voted", "last"}, default "averaged"
        How to predict: by the average of all weight vectors, weighted by how long each lasted, their vote, or the last.
    fit_intercept : bool, default True
        Add 1 to the kernel, so that the bias is one more weight.
    max_iter : int, default 10
        Passes over the data of `fit`; a pass without a mistake is the last.
    shuffle : bool, default True
        Visit the data in a new random order in every pass instead of the order given.
    random_state : int, RandomState instance or None, default None
    n_jobs : int or None, default None
        Threads; None means all cores.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    support_vectors_ : the samples on which a mistake was made
    dual_coef_ : array of shape (n_machines, n_SV)
        Coefficients of the averaged or last vector; for "voted" those of the last.
    mistakes_ : int array of shape (n_machines,)
        Mistakes made so far.
    n_iter_ : int
        Passes over the data.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import KernelPerceptron
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    >>> y = np.array([0, 0, 1, 1])  # exclusive or
    >>> machine = KernelPerceptron(gamma=2.0, variant="last", shuffle=False).fit(X, y)
    >>> machine.predict(X).tolist()
    [0, 0, 1, 1]
    >>> machine.mistake_bound(X, y).holds
    True
    """

    kernel: Any = option("rbf", one_of(*(set(KERNEL_NAMES) - {"precomputed"})), Kernel, callable)
    variant: str = option("averaged", one_of("averaged", "voted", "last"))
    fit_intercept: bool = option(True, "boolean")
    max_iter: int = option(10, whole(1))
    shuffle: bool = option(True, "boolean")
    random_state: Any = option(None, "random_state")

    _kept_private = ("_gamma", "_histories")

    # ---- learning

    @whole_fit
    def fit(self, X: Any, y: Any) -> KernelPerceptron:
        """Train from scratch by up to `max_iter` passes over the data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or any samples that the kernel takes
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        with self._reporting(X, y) as steps:
            data = self._read_samples(X, y)
            self._begin(data, np.unique(data.y))
            self._learn(data.X, self._labels(data.y), self.max_iter, steps=steps)
        return self

    @whole_fit
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> KernelPerceptron:
        """Make one pass over further data, in the order given.

        Parameters
        ----------
        X : samples, as in `fit`
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), default None
            All classes that will occur; needed in the first call unless y contains all of them.

        Returns
        -------
        self
        """
        if not hasattr(self, "classes_"):
            data = self._read_samples(X, y)
            X, y = data.X, data.y
            self._begin(data, np.unique(y if classes is None else classes))
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes={list(classes)!r} differ from those of the first call, {list(self.classes_)}: give the same, "
                "or none."
            )
        else:
            X, y = self._read_more(X, y)
        self._learn(X, self._labels(y), 1, in_order=True)
        return self

    def _read_samples(self, X: Any, y: Any) -> TrainingSet:
        """Validate samples and labels."""
        if isinstance(self.kernel, Precomputed):
            raise ValueError("KernelPerceptron needs samples, not a precomputed matrix: pass the kernel itself.")
        data = self._read(X, y, None, are_plain_labels)
        data.y = checked_labels(data.y)
        return data

    def _read_more(self, X: Any, y: Any) -> tuple[Any, NDArray]:
        """Validate further samples and labels."""
        X = self._read_to_predict(X)
        check_consistent_length(X, y)
        return X, checked_labels(np.asarray(y))

    def _begin(self, data: TrainingSet, classes: NDArray) -> None:
        """Reset the model and set classes and kernel."""
        if len(classes) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(classes)} class. With partial_fit, name "
                "all classes there will be in the first call: classes=[...]."
            )
        self.classes_ = classes
        self._make_kernel(data)
        self._histories = [History() for _ in range(1 if len(classes) == 2 else len(classes))]
        self.support_vectors_ = safe_indexing(data.X, np.empty(0, np.int64))
        self.n_iter_ = 0

    def _labels(self, y: NDArray) -> NDArray[np.int64]:
        """Return class numbers; raise ValueError for a class that was not listed in the first call."""
        place = np.searchsorted(self.classes_, y)
        known = self.classes_[np.minimum(place, len(self.classes_) - 1)] == y
        if not np.all(known):
            raise ValueError(
                f"y holds the class {y[~known][0]!r}, unknown so far: name all classes in the first call, with "
                "classes=[...]."
            )
        return place

    def _learn(
        self, X: Any, labels: NDArray[np.int64], n_passes: int, in_order: bool = False, steps: Steps | None = None
    ) -> None:
        """Make a pass over samples, and store those on which mistakes were made."""
        kernel = self._full_kernel()
        self._histories = [copy.copy(history) for history in self._histories]  # `learn` changes them
        n_before = num_samples(self.support_vectors_)
        everything = stack_samples(self.support_vectors_, X) if n_before else X
        samples = kernel.prepare(everything, np.float64)
        own = np.arange(n_before, len(samples))
        random = check_random_state(self.random_state) if self.shuffle and not in_order else None
        n_threads = resolve_n_jobs(self.n_jobs) if kernel.releases_gil else 1
        signs = self._signs(labels).T

        def half_trained() -> dict[str, Any]:
            return attributes_set(self, lambda shadow: shadow._keep(kernel, everything))

        with single_threaded_blas():
            for _ in range(n_passes):
                order = own if random is None else random.permutation(own)
                mistakes = 0
                for place in gen_batches(len(order), CHUNK):
                    chunk = order[place]
                    few = samples.take(chunk)
                    K = kernel.block(few, few, np.empty((len(chunk), len(chunk))))
                    for history, sign in zip(self._histories, signs, strict=True):
                        known = history.coefficients(len(samples), averaged=False)
                        support = np.flatnonzero(known)
                        vectors = samples.take(support)
                        function = kernel_product(kernel, few, vectors, known[support], np.dtype(np.float64), n_threads)
                        mistakes += history.learn(K, function, sign[chunk - n_before], chunk)
                self.n_iter_ += 1
                asked_to_stop = steps is not None and steps.done(half_trained)
                if asked_to_stop or not mistakes:
                    break
        self._keep(kernel, everything)

    def _full_kernel(self) -> Kernel:
        """Return the kernel, with 1 added for the bias."""
        kernel = self._kernel_of_fit()
        return kernel + 1.0 if self.fit_intercept else kernel

    def _keep(self, kernel: Kernel, everything: Any) -> None:
        """Drop samples without a mistake, and expose all others as support vectors."""
        support = np.unique(np.concatenate([history.sample for history in self._histories]))
        self.support_vectors_ = safe_indexing(everything, support)
        self._histories = [history.renumbered(support) for history in self._histories]
        averaged = self.variant == "averaged"
        self.dual_coef_ = np.array([history.coefficients(len(support), averaged) for history in self._histories])
        self.mistakes_ = np.array([len(history) for history in self._histories])
        self._expansion = Expansion(kernel, self.support_vectors_, self.dual_coef_, np.zeros(len(self._histories)))

    def _rebuild(self) -> None:
        """Restore what a model file does not contain; raise ValueError if the attributes are inconsistent."""
        coefficients, vectors = finite_matrix("dual_coef_", self.dual_coef_), checked_vectors(self)
        n_machines = 1 if len(self.classes_) == 2 else len(self.classes_)
        if coefficients.shape != (n_machines, num_samples(vectors)) or len(self._histories) != n_machines:
            raise ValueError(
                f"coefficients of shape {coefficients.shape} and {len(self._histories)} lists of mistakes are not "
                f"those of {len(self.classes_)} classes and {num_samples(vectors)} support vectors"
            )
        self._histories = [history.checked(num_samples(vectors)) for history in self._histories]
        self._expansion = Expansion(self._full_kernel(), vectors, coefficients, np.zeros(n_machines))

    # ---- prediction

    def decision_function(self, X: Any) -> Vector:
        """Decision values.

        Parameters
        ----------
        X : samples, as in `fit`

        Returns
        -------
        values : array of shape (n_samples,) for two classes, where positive means classes_[1]; (n_samples, n_classes)
            for more. Votes lie between -1 and 1.
        """
        X = self._read_to_predict(X)
        values = self._votes(X) if self.variant == "voted" else self._expansion.decision(X, self.n_jobs)
        return values[:, 0] if len(self.classes_) == 2 else values

    def _votes(self, X: Any) -> Vector:
        """Return the vote of all weight vectors of each two-class model."""
        n = num_samples(X)
        values = np.zeros((n, len(self._histories)))
        if not num_samples(self.support_vectors_):
            return values
        kernel = self._full_kernel()
        for rows in gen_batches(n, CHUNK):
            K = kernel(safe_indexing(X, rows), self.support_vectors_)
            for number, history in enumerate(self._histories):
                values[rows, number] = history.votes(K)
        return values

    def mistake_bound(self, X: Any, y: Any, time_limit: float | None = None) -> MistakeBound:
        """Compare the number of mistakes with Novikoff's bound for separable data, (R / margin)^2.

        Parameters
        ----------
        X, y : the data of the fit, two classes
        time_limit : float or None, default None
            Seconds for the hard-margin SVM that finds the margin.

        Returns
        -------
        bound : MistakeBound
            `print` shows it in one line.
        """
        X, y = self._read_more(X, y)
        if len(self.classes_) != 2:
            raise ValueError(
                f"mistake_bound is about two classes; this machine has {len(self.classes_)}, each against the rest. "
                "Fit a pair of classes."
            )
        sign = self._signs(self._labels(y))[:, 0]
        return bound_mistakes(self._full_kernel(), X, sign, int(self.mistakes_[0]), self.n_jobs, time_limit)
