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
from distributed import Client, Nanny, Scheduler, SpecCluster, Status
from sklearn.base import clone

import widemargin
import widemargin.dask
from tests.dask.on_cluster import local_cluster, make, processes
from widemargin.dask import ClusterError, versions
from widemargin.dask import cluster as clusters
from widemargin.dask.gram import ClusterGram
from widemargin.dask.rows import Rows
from widemargin.dask.source import ClusterSource
from widemargin.dask.waits import ClusterLost

TOL = 1e-5


@pytest.fixture(scope="module")
def alone(dense, session_client):
    return widemargin.SVC(tol=TOL).fit(dense.X, dense.labels).certificate_


def end_worker(client, which=0):
    """End a worker without warning."""
    pids = sorted(processes(client).values())
    os.kill(pids[which % len(pids)], signal.SIGKILL)


def before(patch, owner, method, act):
    """Call `act(number of the call)` before every call of a method."""
    plain, calls = getattr(owner, method), []

    def changed(self, *given, **options):
        calls.append(1)
        act(len(calls))
        return plain(self, *given, **options)

    patch.setattr(owner, method, changed)


def check(machine, alone):
    assert machine.certificate_.holds
    assert machine.certificate_.objective == pytest.approx(alone.objective, rel=1e-6)


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


def test_ctrl_c_while_waiting(client, dense, monkeypatch):
    """A task that takes long: the press ends the wait, and the model so far is certified."""

    def press(call):
        if call == 3:
            monkeypatch.setattr(clusters.Cluster, "_submit", never)
            threading.Timer(
                0.5,
                lambda: (monkeypatch.setattr(clusters.Cluster, "_submit", submit), os.kill(os.getpid(), signal.SIGINT)),
            ).start()

    submit = clusters.Cluster._submit

    def never(self, job, batch, times):
        job = clusters.Job("sleep", time.sleep, (20,), job.worker, job.slab)
        return submit(self, job, batch, times)

    before(monkeypatch, ClusterGram, "add_rows", press)
    machine = widemargin.dask.SVC(tol=TOL, client=client, on_interrupt="keep")
    began = time.monotonic()
    with pytest.warns(Warning, match="interrupted"):
        machine.fit(dense.X, dense.labels)
    assert time.monotonic() - began < 20
    assert machine.status_ is widemargin.Status.INTERRUPTED
    assert np.isfinite(machine.certificate_.violation)


def test_no_workers(dense):
    with local_cluster(0) as empty, Client(empty) as client:
        machine = widemargin.dask.SVC(client=client, worker_timeout=1.0)
        with pytest.raises(ClusterError, match="no workers for 1 s"):
            machine.fit(dense.X, dense.labels)
        assert not hasattr(machine, "certificate_")


def set_paused(paused, dask_worker):
    """Pause or go on, without asking for the memory."""
    dask_worker.memory_manager.memory_pause_fraction = False
    dask_worker.status = Status.paused if paused else Status.running


def test_all_workers_are_paused(client, dense, alone, monkeypatch):
    """As Dask pauses workers for want of memory; the fit gives up, and goes on later."""

    def pause(call):
        if call == 3:
            client.run(set_paused, True)

    machine = widemargin.dask.SVC(tol=TOL, client=client, worker_timeout=1.0)
    try:
        before(monkeypatch, ClusterGram, "add_rows", pause)
        with pytest.raises(ClusterError, match=r"no workers for 1 s \(worker_timeout\): Dask has paused tcp.* memory"):
            machine.fit(dense.X, dense.labels)
    finally:
        client.run(set_paused, False)
        monkeypatch.undo()
    assert machine.status_ is widemargin.Status.LOST
    check(machine.resume(dense.X, dense.labels), alone)


@pytest.mark.parametrize("tasks", [["mine"], []])
def test_a_paused_worker_that_holds_tasks(client, monkeypatch, tasks):
    """Dask usually takes the tasks elsewhere; where it does not, the wait ends. One without tasks does no harm."""
    answers = {"ncores": {"a": 1, "b": 1}, "ncores_running": {"b": 1}, "processing": {"a": tasks, "b": ["other"]}}
    waits = clusters.Cluster(client, worker_timeout=0.3).waits
    monkeypatch.setattr(waits, "ask", answers.get)
    monkeypatch.setattr("widemargin.dask.waits.LOOK_AT_WORKERS", 0.0)
    wait = waits.begin()

    def look():
        for _ in range(4):
            wait.pause()

    if tasks:
        with pytest.raises(ClusterLost):
            look()
        assert "has held tasks for 0.3 s (worker_timeout): Dask has paused a for want of memory" in str(waits.failure)
    else:
        look()


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


def test_too_little_memory_is_told_before_the_start(client, dense, monkeypatch):
    workers = clusters.Cluster.workers
    monkeypatch.setattr(
        clusters.Cluster, "workers", lambda self: [each._replace(memory_limit=10**5) for each in workers(self)]
    )
    with pytest.raises(ClusterError, match=r"MB for its 1,150 rows.*60% of its memory limit"):
        widemargin.dask.SVC(client=client).fit(da.from_array(dense.X, chunks=(500, -1)), dense.labels)


def test_other_versions_are_told_at_the_start(client, dense, monkeypatch):
    mine = versions.versions()
    monkeypatch.setattr(clusters.Cluster, "_versions_of", lambda self, worker: {**mine, "widemargin": "0.0.1"})
    with pytest.raises(ClusterError, match="another version of widemargin.*0.0.1 there"):
        widemargin.dask.SVC(client=client).fit(dense.X, dense.labels)
    monkeypatch.setattr(clusters.Cluster, "_versions_of", lambda self, worker: {**mine, "numpy": "1.0"})
    with pytest.warns(UserWarning, match="numpy 1.0 there"):
        widemargin.dask.SVC(client=client).fit(dense.X, dense.labels)


def test_time_limit(client):
    data = make(4000, seed=3)
    machine = widemargin.dask.SVC(C=1e3, tol=1e-8, time_limit=1.0, client=client)
    with pytest.warns(Warning, match="time limit"):
        machine.fit(data.X, data.labels)
    assert machine.status_ is widemargin.Status.TIME_LIMIT
