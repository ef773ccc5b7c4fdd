"""The five kernel SVMs on a cluster: everything but where the rows are is that of the local estimators.

A fit reads y and weights into this process, cuts X into slabs on the workers, and hands the solver a Gram whose rows
are summed there (gram.py). The solver's loop runs here: progress bar, callbacks, Ctrl-C and limits work as ever.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

import widemargin
from widemargin.certificate import Certificate
from widemargin.dask import predictions
from widemargin.dask.chunks import brought_here, chunks_of
from widemargin.dask.cluster import Cluster
from widemargin.dask.plan import Plan
from widemargin.dask.rows import RowsHere, RowsThere
from widemargin.dask.source import ClusterSource
from widemargin.dask.training import ClusterTraining
from widemargin.dask.training_set import ClusterTrainingSet
from widemargin.dask.waits import ClusterError, ClusterLost
from widemargin.estimators.base import KernelMachine, Run
from widemargin.estimators.classifier import offers_probabilities
from widemargin.estimators.parameters import POSITIVE, estimator, option
from widemargin.estimators.training_set import TrainingSet, leave_out_weightless
from widemargin.gram.full import FULL
from widemargin.kernels import FeatureKernel
from widemargin.kernels.kernel import Kernel
from widemargin.linalg.exchange import lies_on_a_cluster
from widemargin.parallel.tiles import available_cores
from widemargin.problems.dual import SignedDual

logger = logging.getLogger("widemargin")


@dataclass(eq=False)
class OnCluster:
    """Data of a fit on their way to `_read`: what the user gave, and the cluster."""

    X: Any
    cluster: Cluster
    n_expected: int | None = None  # by `resume`


@estimator
class ClusterMachine(KernelMachine):
    """Base of the estimators of this package.

    client : dask.distributed.Client or None, default None
        None takes the client of the context, usually the one created last. It is not pickled.
    worker_timeout : float, default 300
        Seconds without any worker that takes tasks after which a fit gives up; the best model so far is kept.
    plan_ : str
        What the fit did where, about how long that was to take, and whether a cluster helps.
    """

    client: Any = option(None, object)
    worker_timeout: float = option(300.0, POSITIVE)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}

    def __sklearn_clone__(self) -> Any:
        twin = copy.copy(self)
        twin.client = None  # a client cannot be copied
        twin = super(ClusterMachine, twin).__sklearn_clone__()
        twin.client = self.client
        return twin

    # ---- training

    def _fit(self, run: Run, X: Any, y: Any, sample_weight: Any) -> None:
        cluster = Cluster(self.client, self.worker_timeout, run.cancelled)
        try:
            n_expected = None if run.before is None else run.before.shape_fit_[0]
            super()._fit(run, OnCluster(X, cluster, n_expected), y, sample_weight)  # type: ignore[safe-super]
        except ClusterLost as lost:
            raise lost.reason from None
        finally:
            cluster.forget()
        if cluster.waits.failure is not None:
            raise ClusterError(
                f"{cluster.waits.failure} The best model so far is kept, uncertified; resume(X, y) continues from it."
            )

    def _check_resumed(self, n_samples: int) -> None:
        if not np.isnan(n_samples):  # else known, and compared, when the chunks have been counted
            super()._check_resumed(n_samples)

    def _read(
        self, X: Any, y: Any = None, sample_weight: Any = None, plain_targets: Any = None, **checks: Any
    ) -> TrainingSet:
        cluster, X, n_expected = X.cluster, X.X, X.n_expected
        self._refuse_what_needs_all_rows()
        y, sample_weight = brought_here(y, cluster), brought_here(sample_weight, cluster)
        if not lies_on_a_cluster(X):
            data = super()._read(X, y, sample_weight, plain_targets, **checks)
            if len(data) <= FULL:
                return data
            here = RowsHere(data.X, cluster, self.n_jobs)
            return ClusterTrainingSet(here, data.y, data.weight, data.kept, data.n_given)
        chunks = chunks_of(X, cluster)
        n = len(chunks)
        if n == 0 or chunks.width == 0:
            raise ValueError(f"X must have samples and features; got shape ({n}, {chunks.width}).")
        if n_expected is not None:
            super()._check_resumed(n)
        if plain_targets is not None:
            if y is not None and len(y) != n:
                raise ValueError(f"X has {n} rows and y has {len(y)}: they must have one entry per sample each.")
            stand_in = copy.copy(self)  # validates y, beside a column of zeros
            _, y = stand_in._validated(np.zeros((n, 1)), y, plain_targets, **checks)
        self._note_features(chunks.names, chunks.width)
        self.shape_fit_ = (n, chunks.width)
        places = leave_out_weightless(np.arange(n), y, sample_weight, n, False)
        rows = RowsThere(chunks, places.kept, cluster, self.n_jobs)
        rows.outlines  # noqa: B018 - checks the data
        rows.forget_chunks()
        if len(rows) <= FULL:
            return replace(places, X=rows.take(np.arange(len(rows))))
        return ClusterTrainingSet(rows, places.y, places.weight, places.kept, n)

    def _note_features(self, names: Any, width: int) -> None:
        """Set number and names of the features as scikit-learn does."""
        self.n_features_in_ = width
        self.__dict__.pop("feature_names_in_", None)
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = names

    def _refuse_what_needs_all_rows(self) -> None:
        """Raise an error for parameters that a fit on a cluster does not support."""
        if self.solver not in ("auto", "block"):
            raise ValueError(f"solver={self.solver!r} needs all rows here: on a cluster there is solver='auto' only.")
        if self.kernel == "precomputed" or (callable(self.kernel) and not isinstance(self.kernel, Kernel)):
            raise ValueError(
                "widemargin.dask supports the named kernels and kernels of widemargin.kernels on rows of numbers, not "
                f"kernel={self.kernel!r}: use the estimator of the same name in widemargin."
            )

    def _start_training(self, run: Run, data: TrainingSet) -> None:
        if not isinstance(data, ClusterTrainingSet):
            self._tell(f"{type(self).__name__} on {len(data):,} rows: here; up to {FULL:,} are not worth a task.")
            super()._start_training(run, data)
            return
        run.kernel = self._make_kernel(data)
        if run.kernel.accepts_objects or isinstance(run.kernel, FeatureKernel):
            raise ValueError(
                f"widemargin.dask does not support {type(run.kernel).__name__} yet: use the estimator of the same name "
                "in widemargin."
            )
        n_threads = available_cores()  # of this process; n_jobs is about the workers
        source = ClusterSource(run.kernel, data.X, self.cache_size, n_threads, run.stopping)
        plan = Plan.of(source, self._sizes_of_pairs(data))
        self._tell(plan.sentence(type(self).__name__))
        if plan.trains_all:
            source.gram(None)  # fails here, if it does, before there is an answer
        run.training = ClusterTraining(source, plan, run.cancelled)

    def _tell(self, plan: str) -> None:
        """Say what the fit will do."""
        self.plan_ = plan
        logger.info("%s", plan)
        if self.verbose:
            print(plan)

    def _sizes_of_pairs(self, data: TrainingSet) -> NDArray[np.int64]:
        """Return the number of samples of each class pair; none where every problem is about all samples."""
        return np.empty(0, np.int64)

    def _note_certificates(self, run: Run, certificates: Sequence[Certificate], duals: Sequence[SignedDual]) -> None:
        source = run.training.source
        if isinstance(source, ClusterSource):
            facts = source.lying.cost()
            certificates = [replace(certificate, **facts) for certificate in certificates]
        super()._note_certificates(run, certificates, duals)

    # ---- prediction

    def to_local(self) -> Any:
        """Return the same model as the estimator of this name in `widemargin`, to save, export and plot."""
        kind = getattr(widemargin, type(self).__name__)
        own = set(self.get_params(deep=False))
        local = kind(**{name: value for name, value in self.get_params(deep=False).items() if name not in MINE})
        own |= {"plan_"}
        vars(local).update({name: value for name, value in vars(self).items() if name not in own})
        return local

    def predict(self, X: Any) -> Any:
        """Predictions as `widemargin` gives them; lazily, in the container of X, for a collection of Dask."""
        if lies_on_a_cluster(X):
            return predictions.lazily(self.to_local(), "predict", X, self._kind_of_prediction())
        return super().predict(X)  # type: ignore[misc]

    def _kind_of_prediction(self) -> np.dtype:
        """Return the dtype of predictions."""
        return np.dtype(np.float64)


MINE = ("client", "worker_timeout")


class HasDecisionValues:
    """Decision values, which regressions do not have."""

    def decision_function(self, X: Any) -> Any:
        """Decision values as `widemargin` gives them; lazily, in the container of X, for a collection of Dask."""
        if lies_on_a_cluster(X):
            local = self.to_local()  # type: ignore[attr-defined]
            columns = self._columns_of_values()
            return predictions.lazily(local, "decision_function", X, np.dtype(np.float64), columns)
        return super().decision_function(X)  # type: ignore[misc]

    def _columns_of_values(self) -> Sequence[Any] | None:
        """Return the names of the columns of decision values; None if there is one value per sample."""
        return None


class HasScore:
    """Scores, which detectors of outliers do not have."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Accuracy, or R^2 of a regression, as scikit-learn has it; a number of Dask for a collection of Dask."""
        if not lies_on_a_cluster(X):
            here = [value.compute() if lies_on_a_cluster(value) else value for value in (y, sample_weight)]
            return super().score(X, *here)  # type: ignore[misc]
        return predictions.score(self, X, y, sample_weight)


class HasClasses(HasDecisionValues, HasScore):
    """Labels of two or more classes, and probabilities."""

    def _sizes_of_pairs(self, data: TrainingSet) -> NDArray[np.int64]:
        machine: Any = self
        n_in_class = np.bincount(data.y)
        if len(n_in_class) == 2 or machine.multi_class == "ovr":
            return np.empty(0, np.int64)
        first, second = np.triu_indices(len(n_in_class), 1)
        return n_in_class[first] + n_in_class[second]

    @available_if(offers_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Probabilities as `widemargin` gives them; lazily, an array of Dask for a collection of Dask."""
        if not lies_on_a_cluster(X):
            return super().predict_proba(X)  # type: ignore[misc]
        local: Any = self.to_local()  # type: ignore[attr-defined]
        return predictions.lazily(local, "predict_proba", X, np.dtype(np.float64), list(local.classes_))

    def _columns_of_values(self) -> Sequence[Any] | None:
        machine: Any = self
        n_classes = len(machine.classes_)
        if n_classes == 2:
            return None
        is_by_class = machine.decision_function_shape == "ovr" or machine.multi_class == "ovr"
        return list(machine.classes_) if is_by_class else list(range(n_classes * (n_classes - 1) // 2))

    def _kind_of_prediction(self) -> np.dtype:
        return self.classes_.dtype  # type: ignore[attr-defined]


@estimator
class SVC(HasClasses, ClusterMachine, widemargin.SVC):
    """Support vector classification on a cluster: the parameters of `widemargin.SVC`, and two more.

    Parameters
    ----------
    ... client, worker_timeout

    Examples
    --------
    >>> from dask.distributed import Client
    >>> from widemargin.dask import SVC
    >>> client = Client("scheduler:8786")  # doctest: +SKIP
    >>> model = SVC(C=10, gamma=0.02).fit(X, y)  # doctest: +SKIP
    >>> labels = model.predict(X_new)  # doctest: +SKIP
    """


@estimator
class NuSVC(HasClasses, ClusterMachine, widemargin.NuSVC):
    """Support vector classification with nu on a cluster: the parameters of `widemargin.NuSVC`, and two more.

    Parameters
    ----------
    ... client, worker_timeout
    """


@estimator
class SVR(HasScore, ClusterMachine, widemargin.SVR):
    """Support vector regression on a cluster: the parameters of `widemargin.SVR`, and two more.

    Parameters
    ----------
    ... client, worker_timeout
    """


@estimator
class NuSVR(HasScore, ClusterMachine, widemargin.NuSVR):
    """Support vector regression with a fitted tube on a cluster: the parameters of `widemargin.NuSVR`, and two more.

    Parameters
    ----------
    ... client, worker_timeout
    """


@estimator
class OneClassSVM(HasDecisionValues, ClusterMachine, widemargin.OneClassSVM):
    """Outlier detection on a cluster: the parameters of `widemargin.OneClassSVM`, and two more.

    Parameters
    ----------
    ... client, worker_timeout
    """

    def score_samples(self, X: Any) -> Any:
        """Decision values without the offset; lazily for a collection of Dask."""
        return self.decision_function(X) + self.offset_[0]

    def _kind_of_prediction(self) -> np.dtype:
        return np.dtype(np.intp)
