"""Promises: any worker may die at any moment, once or often; no wait for ever; two fits at once; workers come, go."""

import gc
import os
import signal
import threading
import time
import warnings

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, Nanny, Scheduler, SpecCluster
from sklearn.base import clone

import widemargin
import widemargin.dask
from tests.dask.on_cluster import before, check, end_worker, local_cluster, make, processes
from widemargin.dask import ClusterError
from widemargin.dask import cluster as clusters
from widemargin.dask.gram import ClusterGram
from widemargin.dask.rows import Rows
from widemargin.dask.source import ClusterSource

TOL = 1e-5


@pytest.fixture(scope="module")
def alone(dense, session_client):
    return widemargin.SVC(tol=TOL).fit(dense.X, dense.labels).certificate_


@pytest.mark.parametrize("container", ["array", "local"])
def test_worker_ends_in_rounds(client, dense, alone, monkeypatch, container):
    """Two different rounds; NumPy data are sent again, those of Dask are made again."""
    before(monkeypatch, ClusterGram, "add_rows", lambda call: end_worker(client, call) if call in (2, 4) else None)
    X = da.from_array(dense.X, chunks=(600, -1)) if container == "array" else dense.X
    check(widemargin.dask.SVC(tol=TOL, client=client).fit(X, dense.labels), alone)


def test_worker_ends_while_a_task_runs(client, dense, alone, monkeypatch):
    pids = sorted(processes(client).values())

    def soon(call):
        if call == 3:
            threading.Timer(0.02, os.kill, (pids[0], signal.SIGKILL)).start()

    before(monkeypatch, ClusterGram, "add_rows", soon)
    check(widemargin.dask.SVC(tol=TOL, client=client).fit(dense.X, dense.labels), alone)


def test_worker_ends_while_rows_are_prepared(client, dense, alone, monkeypatch):
    before(monkeypatch, Rows, "prepared", lambda call: end_worker(client))
    X = da.from_array(dense.X, chunks=(600, -1))
    check(widemargin.dask.SVC(tol=TOL, client=client).fit(X, dense.labels), alone)


def test_worker_ends_while_the_answer_is_certified(client, dense, alone, monkeypatch):
    before(monkeypatch, ClusterSource, "recomputed", lambda call: end_worker(client))
    check(widemargin.dask.SVC(tol=TOL, client=client).fit(dense.X, dense.labels), alone)


def test_worker_ends_during_prediction(client, dense):
    machine = widemargin.dask.SVC(client=client).fit(dense.X, dense.labels)
    labels = client.compute(machine.predict(da.from_array(dense.X, chunks=(50, -1))))
    end_worker(client)
    np.testing.assert_array_equal(labels.result(timeout=50), machine.to_local().predict(dense.X))


def test_worker_ends_while_class_pairs_are_trained(client, dense, monkeypatch):
    classes = np.digitize(dense.targets, [-1.0, 1.0])
    submit, ended = clusters.Cluster._submit, []

    def changed(self, job, batch, times):
        future = submit(self, job, batch, times)
        if job.name == "pair" and not ended:
            ended.append(end_worker(client))
        return future

    monkeypatch.setattr(clusters.Cluster, "_submit", changed)
    there = widemargin.dask.SVC(tol=TOL, client=client).fit(dense.X, classes)
    check(there, widemargin.SVC(tol=TOL).fit(dense.X, classes).certificate_)
    assert ended


def test_workers_leave_and_join(client, cluster, dense, alone, monkeypatch):
    """One leaves in an orderly way in the second round, another comes in the third."""

    def change(call):
        if call == 2:
            client.retire_workers([next(iter(client.nthreads()))])
        elif call == 3:
            cluster.scale(3)

    before(monkeypatch, ClusterGram, "add_rows", change)
    X = da.from_array(dense.X, chunks=(600, -1))
    try:
        check(widemargin.dask.SVC(tol=TOL, client=client).fit(X, dense.labels), alone)
    finally:
        cluster.scale(2)


def test_two_fits_at_once(client, dense, alone):
    found = {}

    def fit(C):
        found[C] = widemargin.dask.SVC(C=C, tol=TOL, client=client).fit(dense.X, dense.labels).certificate_

    threads = [threading.Thread(target=fit, args=(C,)) for C in (1.0, 4.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    other = widemargin.SVC(C=4.0, tol=TOL).fit(dense.X, dense.labels).certificate_
    for C, expected in ((1.0, alone), (4.0, other)):
        assert found[C].holds
        assert found[C].objective == pytest.approx(expected.objective, rel=1e-6)


def test_answers_do_not_depend_on_the_number_of_workers(client, dense, alone, monkeypatch):
    workers = clusters.Cluster.workers
    monkeypatch.setattr(clusters.Cluster, "workers", lambda self: workers(self)[:1])
    one = widemargin.dask.SVC(tol=TOL, client=client).fit(dense.X, dense.labels)
    assert one.certificate_.workers == 1
    check(one, alone)


# ---- errors instead of waits


def test_all_workers_leave_for_good(dense, alone, client, tmp_path):
    """The best model so far is kept, in the estimator and in its checkpoint, and goes on on other workers."""
    with (
        local_cluster(1) as other,
        Client(other, set_as_default=False) as temporary,
        pytest.MonkeyPatch.context() as patch,
    ):
        before(patch, ClusterGram, "add_rows", lambda call: other.scale(0) if call == 4 else None)
        machine = widemargin.dask.SVC(tol=TOL, client=temporary, worker_timeout=1.0, checkpoint=tmp_path)
        with pytest.raises(ClusterError, match="no workers.*resume"):
            machine.fit(dense.X, dense.labels)
    assert machine.status_ is widemargin.Status.LOST
    assert len(machine.support_) > 0 and not machine.certificate_.holds
    assert machine.to_local().predict(dense.X).shape == (len(dense.X),)
    machine.client = client
    again = clone(machine).resume(dense.X, dense.labels)  # from the checkpoint, on two workers instead of one
    check(again, alone)
    assert not list(tmp_path.iterdir())
    check(machine.resume(dense.X, dense.labels), alone)


def test_nothing_is_left_on_the_cluster(client, dense, monkeypatch):
    """Nor while the user holds the error of a fit that failed, whose traceback refers to its values."""
    X = da.from_array(dense.X, chunks=(600, -1))
    known = set(client.futures)

    def is_as_before():
        """The client forgets futures on its own thread."""
        deadline = time.monotonic() + 10
        while not set(client.futures) <= known and time.monotonic() < deadline:
            time.sleep(0.02)
        return set(client.futures) <= known

    gc.disable()
    try:
        widemargin.dask.SVC(client=client).fit(X, dense.labels)
        assert is_as_before()
        monkeypatch.setattr(ClusterGram, "add_rows", lambda gram, *rest: gram.cluster.waits.fail("Lost."))
        with pytest.raises(ClusterError, match="Lost") as held:
            widemargin.dask.SVC(client=client).fit(X, dense.labels)
        assert held.value is not None and is_as_before()
    finally:
        gc.enable()


def test_scheduler_ends(dense, alone):
    """Ended in the middle of a fit; the model is resumed on this machine."""
    with warnings.catch_warnings(), dask.config.set({"distributed.comm.timeouts.connect": "30s"}):
        warnings.simplefilter("ignore")
        cluster = SpecCluster(
            scheduler={"cls": Scheduler, "options": {"dashboard": False}},
            workers={0: {"cls": Nanny, "options": {"nthreads": 1}}},
        )
        with cluster, Client(cluster, set_as_default=False, timeout=3) as client, pytest.MonkeyPatch.context() as patch:

            def end(call):
                if call == 4:
                    cluster.sync(cluster.scheduler.close)
                    dask.config.set({"distributed.comm.timeouts.connect": "2s"})  # of workers that say good-bye

            before(patch, ClusterGram, "add_rows", end)
            machine = widemargin.dask.SVC(tol=TOL, client=client, worker_timeout=5.0)
            with pytest.raises(ClusterError, match="scheduler"):
                machine.fit(dense.X, dense.labels)
    check(machine.to_local().resume(dense.X, dense.labels), alone)


def test_a_task_that_ends_its_workers(client, cluster, dense, monkeypatch):
    """Dask's allowed-failures is 3 by default; with 1 fewer workers have to start again."""
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 1)
    submit = clusters.Cluster._submit

    def deadly(self, job, batch, times):
        job = job._replace(function=os._exit, arguments=(1,)) if job.name == "rows" else job
        return submit(self, job, batch, times)

    monkeypatch.setattr(clusters.Cluster, "_submit", deadly)
    machine = widemargin.dask.SVC(tol=TOL, client=client)
    with pytest.raises(ClusterError, match="ended 2 workers"):
        machine.fit(dense.X, dense.labels)


def test_rows_that_cannot_be_read(client, dense, monkeypatch):
    """A file may be back at the next attempt, but not after many; the error says what was wrong."""
    monkeypatch.setattr(clusters, "MOST_REPETITIONS", 2)

    def read():
        raise FileNotFoundError("part-3.npy")

    missing = da.from_delayed(dask.delayed(read)(), shape=(100, 6), dtype=float)
    X, y = da.concatenate([da.from_array(dense.X, chunks=(600, -1)), missing]), np.arange(len(dense.X) + 100) % 2
    with pytest.raises(ClusterError, match=r"outline.*could not read them, 3 times.*FileNotFoundError.*part-3.npy"):
        widemargin.dask.SVC(client=client).fit(X, y)


def test_time_limit(client):
    data = make(4000, seed=3)
    machine = widemargin.dask.SVC(C=1e3, tol=1e-8, time_limit=1.0, client=client)
    with pytest.warns(Warning, match="time limit"):
        machine.fit(data.X, data.labels)
    assert machine.status_ is widemargin.Status.TIME_LIMIT
