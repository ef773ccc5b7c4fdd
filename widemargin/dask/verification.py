"""Check anybody's fitted model against training data on a cluster, without bringing them here.

As widemargin.verify does, with F = K b in float64 summed where the rows are; the support vectors are fetched.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from widemargin.certificate import Certificate
from widemargin.dask import slabs
from widemargin.dask.chunks import brought_here, chunks_of
from widemargin.dask.cluster import Cluster
from widemargin.dask.rows import RowsThere
from widemargin.dask.source import ClusterSource
from widemargin.dask.training_set import ClusterTrainingSet
from widemargin.dask.waits import ClusterLost
from widemargin.gram.scores import Scores
from widemargin.inspection import verification as local
from widemargin.inspection.pipelines import unwrap
from widemargin.kernels.names import is_precomputed, takes_objects
from widemargin.linalg.arrays import Index, Vector
from widemargin.linalg.exchange import lies_on_a_cluster
from widemargin.monitor.stopping import Stopping
from widemargin.parallel.tiles import available_cores
from widemargin.solvers import solver_named


def verify(
    model: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    tol: float | None = None,
    client: Any = None,
    worker_timeout: float = 300.0,
) -> Certificate:
    """Return the certificate of a fitted model, computed in float64 from its public attributes and its training data.

    Parameters
    ----------
    model : fitted SVC, NuSVC, SVR, NuSVR or OneClassSVM of widemargin, widemargin.dask or scikit-learn
        If its samples were prepared by steps of a pipeline, give the last step and prepared samples.
    X, y, sample_weight : the data the model was fitted on; Dask collections, or data of this process
    tol : float, default the model's own
        Largest violation with which the certificate holds.
    client : dask.distributed.Client or None, default None
        None takes the client of the context.
    worker_timeout : float, default 300
        Seconds without any worker after which ClusterError is raised.

    Returns
    -------
    certificate : Certificate
        For several classes the worst of the two-class problems, objectives added up.
    """
    if not lies_on_a_cluster(X):
        here = [value.compute() if lies_on_a_cluster(value) else value for value in (y, sample_weight)]
        return local.verify(model, X, *here, tol=tol)
    model, before = unwrap(model)
    machine = local.machine_of(model)
    if before is not None:
        raise ValueError("Prepare X by the steps before the model, lazily, and give the model itself, pipeline[-1].")
    has_fixed_bias = getattr(solver_named(getattr(model, "solver", "auto")), "fixed_bias", False)
    if is_precomputed(model.kernel) or takes_objects(model.kernel) or has_fixed_bias:
        raise ValueError(
            "widemargin.dask.verify supports the named kernels and kernels of widemargin.kernels on rows of numbers, "
            "and solvers without a fixed bias: use widemargin.verify on data of this process."
        )
    cluster = Cluster(client, worker_timeout)
    try:
        y, sample_weight = brought_here(y, cluster), brought_here(sample_weight, cluster)
        chunks = chunks_of(X, cluster)
        if chunks.width != model.n_features_in_:
            raise ValueError(f"X has {chunks.width} features, but the model was fitted on {model.n_features_in_}.")
        n, needs_targets = len(chunks), machine != "OneClassSVM"
        data = local.training_set(model, np.arange(n), n, y, sample_weight, needs_targets, False)
        rows = RowsThere(chunks, data.kept, cluster, None)
        rows.outlines  # noqa: B018 - checks the data
        rows.forget_chunks()
        there = ClusterTrainingSet(rows, data.y, data.weight, data.kept, n)
        kernel = local.kernel_of(model, lambda: there.gamma(model.gamma))
        source = ClusterSource(kernel, rows, None, available_cores(), Stopping())
        own_tol = float(model.tol if tol is None else tol)
        return ModelOnCluster(machine, model, kernel, there, source.exact, own_tol, None, source).verify()
    except ClusterLost as lost:
        raise lost.reason from None
    finally:
        cluster.forget()


@dataclass(frozen=True, eq=False)
class ModelOnCluster(local.FittedModel):
    """A fitted model whose training samples lie on a cluster."""

    source: ClusterSource

    def function(self, index: Index | None, coefficients: Vector) -> tuple[Scores, float]:
        source = self.source
        everywhere = np.zeros(len(source))
        everywhere[slice(None) if index is None else index] = coefficients
        values, error = source.recomputed(everywhere, None, None)
        if index is not None:
            values, error = values[index], error[index]
        return Scores(values, error), self.largest_diagonal

    @cached_property
    def largest_diagonal(self) -> float:
        """The largest k(x, x) of all samples, a bound for those of each class pair."""
        rows, template = self.source.lying, self.source.template
        jobs = [
            rows.job("facts", slab, slabs.largest_diagonal, rows.raw(slab), self.kernel, template)
            for slab in rows.slabs
        ]
        return max(rows.cluster.results(jobs))
