"""What the cluster promises, in one module: answers of local estimators, a lost worker, waits that end, searches.

More of each, over all machines, containers and moments, is in the check_*.py beside it (make cluster-check).
"""

import os
import signal
import threading
import time
from dataclasses import replace

import dask.array as da
import dask.dataframe as dd
import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn.model_selection
import sklearn.svm
from distributed import Client, Status

import widemargin
import widemargin.dask
import widemargin.model_selection
from tests.dask.on_cluster import (
    before,
    check,
    contained,
    end_worker,
    local_cluster,
    make,
    sleep_while_there,
)
from widemargin.dask import ClusterError, versions
from widemargin.dask import cluster as clusters
from widemargin.dask.gram import ClusterGram
from widemargin.dask.plan import LARGEST_SHARE, Plan
from widemargin.dask.waits import ClusterLost

TOL = 1e-5


@pytest.fixture(scope="module")
def alone(dense, session_client):
    return widemargin.SVC(tol=TOL).fit(dense.X, dense.labels).certificate_


@pytest.fixture(scope="module")
def classes(dense):
    """Three classes, of different sizes."""
    return np.digitize(dense.targets, [-1.0, 1.0])


def chunked(X):
    return da.from_array(X, chunks=(700, -1))


# ---- the same answers


@pytest.mark.parametrize(
    ("name", "options", "kind", "container"),
    [
        ("SVC", {"C": 2.0}, "dense", "array"),
        ("SVR", {}, "csr", "local"),
        ("OneClassSVM", {"nu": 0.3}, "binary", "frame"),
        ("NuSVC", {"nu": 0.4}, "dense", "array"),
        ("NuSVR", {"C": 2.0}, "dense", "local"),
    ],
)
def test_certificate_and_objective(client, name, options, kind, container):
    data = make(kind=kind)
    y = {"SVC": data.labels, "NuSVC": data.labels, "OneClassSVM": None}.get(name, data.targets)
    there = getattr(widemargin.dask, name)(tol=TOL, client=client, **options).fit(*contained(data.X, y, container))
    here = getattr(widemargin, name)(tol=TOL, **options).fit(data.X, y)
    check(there, here.certificate_)
    assert there.certificate_.workers == 2 and there.certificate_.rounds > 0
    assert there.plan_.startswith(f"{name} on 2,300 x {data.X.shape[1]}: all 2 workers (2 threads), 1,150 rows each")
    assert there.plan_.endswith(f"the cluster will not help, widemargin.{name} is about as fast.")
    method = "predict" if name.endswith("SVR") else "decision_function"
    few = data.X[:200]
    own = pd.DataFrame(few, columns=there.feature_names_in_) if container == "frame" else few
    np.testing.assert_allclose(getattr(there.to_local(), method)(own), getattr(here, method)(few), atol=1e-3)


@pytest.mark.parametrize("name", ["SVC", "NuSVC"])
def test_class_pairs_on_workers(client, dense, classes, name):
    """Each pair is a task of one worker, its folds with it; containers of all answers."""
    options = {"tol": TOL, "probability": True, "random_state": 0, **({"nu": 0.2} if name == "NuSVC" else {})}
    here = getattr(widemargin, name)(**options).fit(dense.X, classes)
    there = getattr(widemargin.dask, name)(client=client, **options).fit(chunked(dense.X), classes)
    assert "3 class pairs, each on one of 2 workers" in there.plan_
    assert there.certificate_.holds and there.certificate_.workers == 2
    for own, other in zip(there.certificates_, here.certificates_, strict=True):
        assert own.objective == pytest.approx(other.objective, rel=1e-6)
    expected = here.predict_proba(dense.X)
    found = there.predict_proba(chunked(dense.X))
    assert found.shape == (2300, 3)
    np.testing.assert_allclose(found.compute(), expected, atol=1e-3)
    frame = dd.from_pandas(pd.DataFrame(dense.X), npartitions=3)
    np.testing.assert_allclose(there.predict_proba(frame).compute()[1], expected[:, 1], atol=1e-3)
    values = there.decision_function(chunked(dense.X)).compute()
    np.testing.assert_allclose(values, here.decision_function(dense.X), atol=1e-3)
    np.testing.assert_array_equal(there.predict(chunked(dense.X)).compute(), here.predict(dense.X))
    np.testing.assert_array_equal(there.support_vectors_, dense.X[there.support_])


@pytest.mark.parametrize("container", ["array", "local"])
def test_a_class_pair_on_all_workers(client, dense, classes, monkeypatch, container):
    """One that one worker has no room for; the others beside each other."""
    workers, limit = clusters.Cluster.workers, int(1780 * 6 * (8 + 4) / LARGEST_SHARE)
    monkeypatch.setattr(
        clusters.Cluster, "workers", lambda self: [each._replace(memory_limit=limit) for each in workers(self)]
    )
    here = widemargin.SVC(tol=TOL).fit(dense.X, classes)
    X, y = contained(dense.X, classes, container)
    there = widemargin.dask.SVC(tol=TOL, client=client).fit(X, y)
    assert "2 class pairs, each on one of 2 workers" in there.plan_
    assert "1 class pairs one after another on all 2 workers (2 threads)" in there.plan_
    assert there.certificate_.rounds > 0
    check(there, here.certificate_)


def test_one_class_against_the_rest(client, dense, classes):
    here = widemargin.SVC(tol=TOL, multi_class="ovr").fit(dense.X, classes)
    there = widemargin.dask.SVC(tol=TOL, multi_class="ovr", client=client).fit(dense.X, classes)
    check(there, here.certificate_)


def test_probabilities_of_two_classes(client, dense):
    options = {"tol": TOL, "probability": True, "random_state": 0}
    here = widemargin.SVC(**options).fit(dense.X, dense.labels)
    there = widemargin.dask.SVC(client=client, **options).fit(chunked(dense.X), dense.labels)
    assert there.certificate_.holds and there.certificate_.rounds > 0
    np.testing.assert_allclose(there.predict_proba(dense.X), here.predict_proba(dense.X), atol=1e-3)


def test_verify(client, dense, classes):
    """Anybody's model, on data that are not brought here."""
    X, few = chunked(dense.X), slice(0, 900)
    models = [
        (widemargin.SVC().fit(dense.X, classes), X, classes),
        (sklearn.svm.NuSVR(tol=1e-5).fit(dense.X, dense.targets), X, da.from_array(dense.targets)),
        (sklearn.svm.NuSVC(tol=1e-5).fit(dense.X[few], dense.labels[few]), X[few], dense.labels[few]),
    ]
    for model, rows, y in models:
        found = widemargin.dask.verify(model, rows, y, client=client)
        expected = widemargin.verify(model, rows.compute(), np.asarray(y))
        assert found.holds == expected.holds
        assert found.violation == pytest.approx(expected.violation, rel=1e-6, abs=1e-12)
        assert found.objective == pytest.approx(expected.objective, rel=1e-12)
    model = models[0][0]
    model.intercept_ = model.intercept_ + 0.1
    assert not widemargin.dask.verify(model, X, classes, client=client).holds
    with pytest.raises(ValueError, match="fitted on 2300"):
        widemargin.dask.verify(model, X[:2000], classes[:2000], client=client)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("search", [sklearn.model_selection.GridSearchCV, widemargin.model_selection.GridSearchCV])
def test_searches_on_the_workers(client, dense, search):
    """The demonstration of every engine: candidates of a search, each a local fit on a worker."""

    def executed():
        return sum(client.run(lambda dask_worker: dask_worker.state.executed_count).values())

    grid, X, y = {"C": [1.0, 10.0], "gamma": [0.1, 0.5]}, dense.X[:400], dense.labels[:400]
    expected, began = sklearn.model_selection.GridSearchCV(sklearn.svm.SVC(), grid, cv=3).fit(X, y), executed()
    with joblib.parallel_config(backend="dask"):
        found = search(widemargin.SVC(), grid, cv=3).fit(X, y)
    assert executed() > began
    np.testing.assert_array_equal(found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])
    assert found.best_params_ == expected.best_params_ and found.best_estimator_.certificate_.holds


NO_PAIRS = np.empty(0, np.int64)


def test_plan_of_a_problem_on_all_samples():
    plan = Plan((1_000_000, 54), 2.0, [8, 8, 8, 8], 4, NO_PAIRS, NO_PAIRS > 0)
    assert plan.sentence("SVR") == (
        "SVR on 1,000,000 x 54: all 4 workers (32 threads), 250,000 rows each, with working sets of 4,080; about 11 to "
        "64 s for 10% to 60% support vectors, 62 to 375 s here; more at large C, whose steps are made here."
    )


def test_plan_of_class_pairs():
    sizes = np.array([13_000] * 44 + [30_000])
    plan = Plan((60_000, 784), 20.0, [8, 8, 8, 8], 4, sizes, sizes > 20_000)
    assert plan.sentence("SVC").startswith(
        "SVC on 60,000 x 784: 44 class pairs, each on one of 4 workers (32 threads), the longest of 13,000 rows and 1 "
        "class pairs one after another on all 4 workers (32 threads); about "
    )
    assert (plan.threads_per_pair, plan.at_a_time) == (1, 36)
    few = replace(plan, sizes=sizes[:3], is_spread=np.zeros(3, bool))
    assert (few.threads_per_pair, few.at_a_time) == (8, 8)


# ---- waits that end


def test_ctrl_c_keeps_the_pairs_so_far(client, dense, classes, monkeypatch, tmp_path):
    """And their checkpoint, from which the next fit goes on."""
    plain, presses = clusters.Cluster.each, []

    def pressed(self, jobs, *rest, **options):
        for number, found in plain(self, jobs, *rest, **options):
            yield number, found
            if isinstance(found, list) and not presses:
                presses.append(os.kill(os.getpid(), signal.SIGINT))

    options = {"tol": TOL, "client": client, "on_interrupt": "keep", "checkpoint": tmp_path}
    monkeypatch.setattr(clusters.Cluster, "each", pressed)
    with pytest.warns(Warning, match="interrupted"):
        machine = widemargin.dask.SVC(**options).fit(dense.X, classes)
    monkeypatch.undo()
    held = [certificate.holds for certificate in machine.certificates_]
    assert machine.status_ is widemargin.Status.INTERRUPTED and 1 <= sum(held) < 3
    assert len(list(tmp_path.iterdir())) == 1
    machine = widemargin.dask.SVC(**options).resume(dense.X, classes)
    check(machine, widemargin.SVC(tol=TOL).fit(dense.X, classes).certificate_)


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


def test_ctrl_c_while_waiting(client, dense, monkeypatch, tmp_path):
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
        job = clusters.Job("sleep", sleep_while_there, (tmp_path / "file",), job.worker, job.slab)
        return submit(self, job, batch, times)

    before(monkeypatch, ClusterGram, "add_rows", press)
    (tmp_path / "file").touch()
    machine = widemargin.dask.SVC(tol=TOL, client=client, on_interrupt="keep")
    began = time.monotonic()
    with pytest.warns(Warning, match="interrupted"):
        machine.fit(dense.X, dense.labels)
    (tmp_path / "file").unlink()
    assert time.monotonic() - began < 20
    assert machine.status_ is widemargin.Status.INTERRUPTED
    assert np.isfinite(machine.certificate_.violation)


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


# ---- local estimators


@pytest.mark.parametrize("name", ["SVC", "SVR", "OneClassSVM", "LinearSVC", "KernelRidge", "LSSVC", "KernelPerceptron"])
def test_local_estimators_do_not_take_collections(dense, name):
    X = chunked(dense.X)
    machine = getattr(widemargin, name)()
    with pytest.raises(TypeError, match=r"lies on a cluster: use widemargin.dask.SVC"):
        machine.fit(X, dense.labels)
    few = slice(0, 100)
    y = dense.targets[few] if name in ("SVR", "KernelRidge") else dense.labels[few]
    machine.fit(dense.X[few], y)
    with pytest.raises(TypeError, match="lies on a cluster"):
        machine.predict(X)
    if name != "OneClassSVM":
        with pytest.raises(TypeError, match="lies on a cluster"):
            machine.score(X, dense.labels)
        with pytest.raises(TypeError, match="lies on a cluster"):
            machine.fit(dense.X[few], da.from_array(y))


def test_verify_does_not_take_collections(dense):
    machine = widemargin.SVC().fit(dense.X[:100], dense.labels[:100])
    with pytest.raises(TypeError, match="lies on a cluster"):
        widemargin.verify(machine, chunked(dense.X[:100]), dense.labels[:100])


def test_kernels_of_objects_do_not_take_collections(dense):
    with pytest.raises(TypeError, match="lies on a cluster"):
        widemargin.SVC(kernel=lambda A, B: A @ B.T).fit(chunked(dense.X), dense.labels)


# ---- a lost worker; last, since it takes some seconds to come back


def test_worker_ends_in_rounds(client, dense, alone, monkeypatch):
    """Its slab is made again from the chunks."""
    before(monkeypatch, ClusterGram, "add_rows", lambda call: end_worker(client, call) if call == 3 else None)
    check(widemargin.dask.SVC(tol=TOL, client=client).fit(chunked(dense.X), dense.labels), alone)
