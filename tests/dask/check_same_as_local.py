"""The cluster's answers are those of the local estimators: certificate, objective, decision values, containers."""

import pickle
from functools import cache

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import widemargin
import widemargin.dask
import widemargin.io
from tests.dask.on_cluster import contained, make
from widemargin.dask.slabs import column_sums
from widemargin.kernels.samples.binary import BinaryRows
from widemargin.kernels.samples.sparse import SparseRows

TOL = 1e-5
MACHINES = {"SVC": {"C": 2.0}, "NuSVC": {"nu": 0.4}, "SVR": {"C": 1.0}, "NuSVR": {}, "OneClassSVM": {"nu": 0.3}}


def targets_of(name, data):
    return None if name == "OneClassSVM" else data.labels if name.endswith("SVC") else data.targets


@cache
def known(name, kind):
    data = make(kind=kind)
    machine = getattr(widemargin, name)(tol=TOL, **MACHINES[name])
    return machine.fit(data.X, targets_of(name, data)), data


@pytest.mark.parametrize("container", ["array", "frame", "local"])
@pytest.mark.parametrize("kind", ["dense", "csr", "binary"])
@pytest.mark.parametrize("name", MACHINES)
def test_certificate_and_objective(client, name, kind, container):
    alone, data = known(name, kind)
    X, y = contained(data.X, targets_of(name, data), container)
    machine = getattr(widemargin.dask, name)(tol=TOL, client=client, **MACHINES[name]).fit(X, y)
    own, theirs = machine.certificate_, alone.certificate_
    assert own.holds and theirs.holds
    assert own.objective == pytest.approx(theirs.objective, rel=1e-6)
    assert own.dual <= theirs.primal * (1 + 1e-12) and theirs.dual <= own.primal * (1 + 1e-12)
    assert machine._gamma == pytest.approx(alone._gamma, rel=1e-12)
    assert own.workers == 2 and own.rounds > 0 and own.bytes_sent > 0 and own.bytes_received > 0
    assert 0.0 <= own.waiting <= 1.0
    method = "predict" if name.endswith("SVR") else "decision_function"
    expected = getattr(alone, method)(data.X)
    values = getattr(machine, method)(data.X if container != "frame" else X)
    ours = np.asarray(values) if container != "frame" else values.compute().to_numpy()
    np.testing.assert_allclose(ours, expected, atol=100 * TOL * max(1, np.abs(expected).max()))


def test_slabs_share_one_representation(client):
    for kind, expected in (("binary", BinaryRows), ("csr", SparseRows)):
        data = make(kind=kind)
        seen = []
        from widemargin.dask.rows import Rows

        template = Rows.template

        def remember(self, kernel, dtype, template=template, seen=seen):
            seen.append(template(self, kernel, dtype))
            return seen[-1]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Rows, "template", remember)
            X = da.from_array(data.X, chunks=(500, -1)) if kind == "binary" else data.X
            widemargin.dask.SVC(client=client).fit(X, data.labels)
        assert {type(samples) for samples in seen} == {expected}


def test_one_slab_of_two_values_beside_another(client):
    """The first half holds 0/1 only, which its worker alone would pack into bits."""
    data = make()
    X = data.X.copy()
    X[:1200] = X[:1200] > 0
    own = widemargin.dask.SVC(tol=TOL, client=client).fit(da.from_array(X, chunks=(600, -1)), data.labels)
    alone = widemargin.SVC(tol=TOL).fit(X, data.labels)
    assert own.certificate_.holds
    assert own.certificate_.objective == pytest.approx(alone.certificate_.objective, rel=1e-6)


def test_weights_and_samples_of_weight_zero(client, dense):
    weight = np.random.default_rng(1).integers(0, 3, len(dense.labels)).astype(float)
    alone = widemargin.SVC(tol=TOL).fit(dense.X, dense.labels, weight)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("widemargin.dask.estimators.FULL", 500)
        own = widemargin.dask.SVC(tol=TOL, client=client).fit(
            da.from_array(dense.X, chunks=(700, -1)), dense.labels, da.from_array(weight, chunks=500)
        )
    assert own.certificate_.workers == 2
    assert own._gamma == pytest.approx(alone._gamma, rel=1e-12)
    assert own.certificate_.objective == pytest.approx(alone.certificate_.objective, rel=1e-6)
    np.testing.assert_array_equal(own.support_vectors_, dense.X[own.support_])


def test_float64_rows_where_float32_is_not_safe(client):
    data = make()
    X = data.X + 1e6 * np.arange(len(data.X))[:, None] / len(data.X)
    own = widemargin.dask.SVC(gamma=0.5, tol=1e-3, client=client).fit(X, data.labels)
    alone = widemargin.SVC(gamma=0.5, tol=1e-3).fit(X, data.labels)
    assert own.certificate_.holds == alone.certificate_.holds
    assert own.certificate_.objective == pytest.approx(alone.certificate_.objective, rel=1e-5)


@pytest.mark.parametrize("kernel", ["linear", "poly", "laplacian"])
def test_other_kernels(client, dense, kernel):
    options = {"kernel": kernel, "C": 0.1, "tol": 1e-4}
    own = widemargin.dask.SVC(client=client, **options).fit(dense.X, dense.labels)
    alone = widemargin.SVC(**options).fit(dense.X, dense.labels)
    assert own.certificate_.holds
    assert own.certificate_.objective == pytest.approx(alone.certificate_.objective, rel=1e-5)


def test_empty_partitions_and_unknown_lengths(client, dense):
    frame = dd.from_pandas(pd.DataFrame(dense.X).assign(y=dense.labels), npartitions=5)
    halved = frame[(frame[0] > 0) & (frame.index > 900)]  # the first partitions become empty
    X, y = halved.drop(columns="y"), halved["y"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("widemargin.dask.estimators.FULL", 300)
        by_frame = widemargin.dask.SVC(tol=TOL, client=client).fit(X, y)
        by_array = widemargin.dask.SVC(tol=TOL, client=client).fit(X.to_dask_array(), y)
    here = halved.compute()
    alone = widemargin.SVC(tol=TOL).fit(here.drop(columns="y").to_numpy(), here["y"].to_numpy())
    for own in (by_frame, by_array):
        assert own.certificate_.objective == pytest.approx(alone.certificate_.objective, rel=1e-6)
    assert len(by_frame.predict(X).compute()) == len(here)


# ---- predictions


def test_predictions_keep_container_index_and_type(client, dense):
    own = widemargin.dask.SVC(client=client).fit(dense.X, dense.labels)
    array = da.from_array(dense.X, chunks=(500, 2))
    labels = own.predict(array)
    assert isinstance(labels, da.Array) and labels.dtype == own.classes_.dtype and labels.shape == (len(dense.X),)
    expected = own.to_local().predict(dense.X)
    np.testing.assert_array_equal(labels.compute(), expected)
    pandas = pd.DataFrame(dense.X, index=np.arange(len(dense.X)) * 10)
    series = own.predict(dd.from_pandas(pandas, npartitions=3))
    assert isinstance(series, dd.Series)
    assert series.compute().index.equals(pandas.index)
    np.testing.assert_array_equal(series.compute().to_numpy(), expected)
    assert own.decision_function(array).dtype == np.float64
    right = own.to_local().score(dense.X, dense.labels)
    assert float(own.score(array, da.from_array(dense.labels, chunks=900))) == pytest.approx(right)
    assert own.score(dense.X, dense.labels) == pytest.approx(right)
    assert isinstance(own.predict(dense.X), np.ndarray)


def test_regression_scores(client, dense):
    own = widemargin.dask.SVR(client=client).fit(dense.X, dense.targets)
    weight = np.linspace(0.5, 2.0, len(dense.X))
    found = own.score(da.from_array(dense.X, chunks=800), da.from_array(dense.targets), da.from_array(weight))
    assert float(found) == pytest.approx(own.to_local().score(dense.X, dense.targets, weight))


def test_the_model_is_once_in_the_graph(client, dense):
    own = widemargin.dask.SVC(client=client).fit(dense.X, dense.labels)
    size = len(pickle.dumps(own.to_local()))
    graph = own.predict(da.zeros((10_000, 6), chunks=(100, 6)))
    assert len(pickle.dumps(graph)) < 3 * size


# ---- life of an estimator


def test_clone_pickle_and_local_model(client, dense, tmp_path):
    own = widemargin.dask.SVC(C=3.0, client=client).fit(dense.X, dense.labels)
    assert clone(own).client is client
    again = pickle.loads(pickle.dumps(own))
    assert again.client is None
    np.testing.assert_array_equal(again.predict(dense.X), own.predict(dense.X))
    local = own.to_local()
    assert type(local) is widemargin.SVC and local.C == 3.0
    assert local.certificate_.workers == 2 and "workers / rounds" in str(local.certificate_)
    widemargin.io.save(local, tmp_path / "model.json")
    np.testing.assert_array_equal(widemargin.io.load(tmp_path / "model.json").predict(dense.X), own.predict(dense.X))


def test_scores_where_local_machines_have_them():
    for name in MACHINES:
        theirs = hasattr(getattr(widemargin, name), "score")
        assert hasattr(getattr(widemargin.dask, name), "score") == theirs == (name != "OneClassSVM")


def test_same_parameters_but_two():
    for name in MACHINES:
        theirs = getattr(widemargin, name)().get_params()
        assert getattr(widemargin.dask, name)().get_params() == {**theirs, "client": None, "worker_timeout": 300.0}


def test_stopped_and_resumed(client):
    data = make(3000)
    X = da.from_array(data.X, chunks=(1000, -1))
    own = widemargin.dask.SVC(tol=TOL, max_iter=300, client=client)
    with pytest.warns(Warning, match="resume"):
        own.fit(X, data.labels)
    own.resume(X, data.labels, max_iter=1_000_000)
    alone = widemargin.SVC(tol=TOL).fit(data.X, data.labels)
    assert own.certificate_.holds
    assert own.certificate_.objective == pytest.approx(alone.certificate_.objective, rel=1e-6)
    with pytest.raises(ValueError, match="same training data"):
        own.resume(X[:2500], data.labels[:2500])


def test_a_checkpoint_of_the_cluster_is_found_again(client, tmp_path):
    alone, data = known("SVC", "dense")
    X, y = contained(data.X, data.labels, "array")
    options = {"tol": TOL, "C": 2.0, "client": client, "checkpoint": str(tmp_path)}
    with pytest.warns(ConvergenceWarning):
        widemargin.dask.SVC(max_iter=1000, **options).fit(X, y)
    assert len(list(tmp_path.iterdir())) == 1
    again = widemargin.dask.SVC(**options).resume(data.X, data.labels)  # the same rows, from here
    assert again.certificate_.holds and not list(tmp_path.iterdir())
    assert again.certificate_.objective == pytest.approx(alone.certificate_.objective, rel=1e-6)
    with pytest.raises(NotFittedError, match="does not exist"):
        widemargin.dask.SVC(**options).resume(-2.0 * data.X, data.labels)


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_sums_that_name_a_checkpoint_do_not_depend_on_slabs(kind):
    X = make(kind=kind).X
    whole = column_sums(X, 0)
    parts = column_sums(X[:700], 0) + column_sums(X[700:], 700)
    np.testing.assert_allclose(parts, whole, rtol=1e-12)
    moved = column_sums(X[::-1], 0)
    assert not np.allclose(moved, whole, rtol=1e-6)
