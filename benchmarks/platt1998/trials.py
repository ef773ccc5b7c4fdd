"""One cell of a table: train with one of the four contestants and read off time, support vectors and certificate.

smo        `Platt`, points held as sparse binary vectors (or dense ones for the non-sparse tables), no cache, one thread
chunking   `Chunking(500)` with projected conjugate gradient, on sparse or dense vectors, one thread
default    `SVC()`, the block solver, all cores
sklearn    `sklearn.svm.SVC` with 2,000 MB of cache, CSR input

All are trained to the same accuracy. Platt lets every output be 1e-3 off its target; two thresholds may then differ by
2e-3, which is `tol` in LIBSVM's sense and ours. Times are CPU seconds of the process, as his are, and so are
the limits: other work on the machine cuts no run short. Compilation is done before.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from unittest import mock

import numpy as np
import sklearn.svm
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.platt1998.figures import Experiment
from widemargin import SVC, verify
from widemargin.certificate import certify
from widemargin.gram.cached import CachedGram
from widemargin.kernels import Gaussian, Kernel, Linear
from widemargin.kernels.samples.dense import dense_rows
from widemargin.kernels.samples.sparse import sparse_rows
from widemargin.monitor import clock
from widemargin.monitor.stopping import Stopping
from widemargin.parallel.tiles import single_threaded_blas
from widemargin.problems import hinge
from widemargin.solvers.reference import Chunking, Platt

TOL = 2e-3  # between two thresholds: Platt's 1e-3 to either side
VARIANCE = 10.0  # read as exp(-|x - z|^2 / (2 variance)): only so do the support vector counts on adult agree
GAMMA = 1.0 / (2.0 * VARIANCE)
CACHE_BYTES = 256 * 2**20  # rows that chunking may keep while it updates the outputs of all points
SKLEARN_CACHE = 2000  # MB
AT_BOUND = 1e-9  # relative distance from C at which scikit-learn's multipliers count as bound


@dataclass
class Cell:
    """What one contestant did; `seconds` is None where it was left out or ran into the limit of `limit` CPU seconds."""

    seconds: float | None = None
    wall: float | None = None
    ended: str = "left out"
    non_bound: int | None = None
    bound: int | None = None
    violation: float | None = None
    objective: float | None = None
    iterations: int | None = None
    limit: float | None = None


def kernel_of(experiment: Experiment) -> Kernel:
    """The kernel in our parameters."""
    return Linear() if experiment.kernel == "linear" else Gaussian(gamma=GAMMA)


def solve_plain(
    experiment: Experiment, X: sparse.csr_array, y: NDArray, contestant: str, dense: bool, limit: float | None
) -> Cell:
    """SMO or chunking of 1998 on sparse or dense vectors."""
    kernel = kernel_of(experiment)
    C = experiment.C
    dual = hinge(y, np.full(len(y), C))
    samples = dense_rows(X.toarray(), np.float64) if dense else sparse_rows(X, np.float64, split=False)
    gram = CachedGram(kernel, samples, np.float64, CACHE_BYTES)
    form = "dense" if dense else "binary"
    solver = Platt(form=form) if contestant == "smo" else Chunking()
    cpu, wall = time.process_time(), time.perf_counter()
    with single_threaded_blas():
        solution = solver.solve(dual, gram, Stopping(tol=TOL, time_limit=limit))
    cell = Cell(time.process_time() - cpu, time.perf_counter() - wall, solution.status.name)
    size = np.abs(solution.beta)
    cell.non_bound, cell.bound = int(np.count_nonzero((size > 0) & (size < C))), int(np.count_nonzero(size == C))
    certificate = certify(dual, kernel, X, solution.beta, TOL)
    cell.violation, cell.objective, cell.iterations = certificate.violation, certificate.dual, solution.iterations
    if not solution.status.converged:
        cell.seconds = None
    return cell


def fit_estimator(
    experiment: Experiment, X: sparse.csr_array, y: NDArray, contestant: str, limit: float | None
) -> Cell:
    """Our default or scikit-learn's machine."""
    options = {"kernel": "linear"} if experiment.kernel == "linear" else {"kernel": "rbf", "gamma": GAMMA}
    C = experiment.C
    if contestant == "default":
        model = SVC(C=C, tol=TOL, time_limit=limit, **options)
    else:
        model = sklearn.svm.SVC(C=C, tol=TOL, cache_size=SKLEARN_CACHE, **options)
    cpu, wall = time.process_time(), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    cell = Cell(time.process_time() - cpu, time.perf_counter() - wall, "OPTIMAL")
    if contestant == "default":
        cell.ended = model.status_.name
    size = np.abs(
        np.asarray(model.dual_coef_.toarray() if sparse.issparse(model.dual_coef_) else model.dual_coef_)
    ).ravel()
    cell.bound = int(np.count_nonzero(size >= C * (1 - AT_BOUND)))
    cell.non_bound = len(size) - cell.bound
    certificate = verify(model, X, y, tol=TOL)
    cell.violation, cell.objective = certificate.violation, certificate.dual
    cell.iterations = int(np.sum(model.n_iter_))
    if cell.ended != "OPTIMAL":
        cell.seconds = None
    return cell


def trial(
    experiment: Experiment, X: sparse.csr_array, y: NDArray, contestant: str, dense: bool, limit: float | None
) -> Cell:
    """Train with one contestant, for `limit` CPU seconds at most."""
    with mock.patch.object(clock, "now", time.process_time):
        if contestant in ("smo", "chunking"):
            cell = solve_plain(experiment, X, y, contestant, dense, limit)
        else:
            cell = fit_estimator(experiment, X, y, contestant, limit)
    cell.limit = limit if cell.ended == "TIME_LIMIT" else None
    return cell
