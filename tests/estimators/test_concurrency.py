"""Fits side by side: in threads, in processes, after a fork and in Dask workers, on no more threads than cores."""

import multiprocessing
import os
import threading

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_info

from widemargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from widemargin.kernels import Gaussian
from widemargin.parallel import tiles as threads

pytestmark = pytest.mark.needs_compiler  # fits too large for interpreted code

MACHINES = [SVC(C=3.0), SVC(probability=True, random_state=0), NuSVC(nu=0.2), SVR(), NuSVR(), OneClassSVM(nu=0.2)]


@pytest.fixture(scope="module")
def data():
    return make_classification(300, 8, n_classes=3, n_informative=6, random_state=0)


def coefficients(machine, X, y):
    """What a fit found, in a form that can be sent between processes."""
    fitted = clone(machine).fit(X, y)
    return fitted.dual_coef_, fitted.intercept_, fitted.predict(X)


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.fixture(scope="module")
def alone(data):
    return [coefficients(machine, *data) for machine in MACHINES]


def test_fits_in_threads_equal_fits_alone(data, alone):
    jobs = [joblib.delayed(coefficients)(machine, *data) for machine in MACHINES * 3]
    found = joblib.Parallel(n_jobs=4, backend="threading")(jobs)
    assert_same(found, alone * 3)


def test_one_machine_predicts_in_many_threads(data):
    X, y = data
    machine = SVC(gamma=0.1).fit(X, y)
    expected = machine.decision_function(X)
    fresh = SVC(gamma=0.1).fit(X, y)  # its support vectors are prepared by whoever comes first
    found = joblib.Parallel(n_jobs=4, backend="threading")(
        joblib.delayed(fresh.decision_function)(X) for _ in range(12)
    )
    for values in found:
        np.testing.assert_array_equal(values, expected)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_fits_after_a_fork(data, alone):
    """The child has none of the parent's threads: a pool inherited from it would wait for ever."""
    X, y = make_classification(3000, 5, random_state=0)
    SVC(n_jobs=2).fit(X, y)  # starts the pool
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()

    def child():
        queue.put(SVC(n_jobs=2).fit(X, y).intercept_)
        queue.put([coefficients(machine, *data) for machine in MACHINES])

    process = context.Process(target=child)
    process.start()
    intercept, found = queue.get(), queue.get()
    process.join(60)
    assert process.exitcode == 0
    np.testing.assert_allclose(intercept, SVC(n_jobs=2).fit(X, y).intercept_, atol=1e-6)
    assert_same(found, alone)


def test_fits_in_processes(data, alone):
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(_in_worker)(machine, *data) for machine in MACHINES)
    assert_same([answer for answer, _ in found], alone)
    assert {cores for _, cores in found} == {max(1, joblib.cpu_count() // 2)}


def _in_worker(machine, X, y):
    """A fit and the number of threads it takes by itself, in a worker of joblib's."""
    return coefficients(machine, X, y), threads.available_cores()


def test_fits_in_dask_workers(data, alone):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=3, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = client.gather([client.submit(coefficients, machine, *data, pure=False) for machine in MACHINES])
    assert_same(found, alone)


# ---- no more threads than cores


def test_cores_meant_for_this_process(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    most = threads.available_cores()
    assert 1 <= most <= (os.cpu_count() or 1)
    for text, expected in (("1", 1), ("1,4", 1), ("0", most), ("many", most), ("100000", most)):
        monkeypatch.setenv("OMP_NUM_THREADS", text)
        assert threads.available_cores() == expected
        assert threads.resolve_n_jobs(None) == threads.resolve_n_jobs(-1) == expected
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert threads.resolve_n_jobs(2) == min(2, most)  # a parameter is more explicit than the environment
    assert threads.resolve_n_jobs(100_000) == most


def test_blas_keeps_to_one_thread_during_a_fit_and_gets_its_threads_back(data):
    seen = []

    def watched(A, B):
        seen.append(blas_threads())
        return Gaussian(0.1)(A, B)

    X, y = make_classification(700, 5, random_state=0)
    before = blas_threads()
    SVC(kernel=watched).fit(X, y)
    assert seen and all(set(counts) == {1} for counts in seen)
    assert blas_threads() == before


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_fits_in_many_threads_share_one_pool():
    X, y = make_classification(2500, 5, random_state=0)
    busy = []

    def fit():
        SVC(n_jobs=2, gamma=0.1).fit(X, y)
        busy.append(sum(thread.name.startswith("widemargin-1_") for thread in threading.enumerate()))

    workers = [threading.Thread(target=fit) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(busy) == 4
    assert max(busy) == 1


def test_a_task_behind_another_fit_is_not_waited_for():
    """The pool is busy with someone else's work: a fit does all tiles itself and returns."""
    release = threading.Event()
    threads._executor(1).submit(release.wait)
    rescue = threading.Timer(10.0, release.set)
    rescue.start()
    done = []
    threads.run_tiles(done.append, 5, 2)
    assert sorted(done) == [0, 1, 2, 3, 4]
    assert not release.is_set()
    rescue.cancel()
    release.set()
