"""Bad input gets a sentence; local estimators do not pull a collection here; nothing of Dask is imported by others."""

import subprocess
import sys

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import widemargin
import widemargin.dask


@pytest.fixture
def machine(client):
    return widemargin.dask.SVC(client=client)


def chunked(X):
    return da.from_array(X, chunks=(700, -1))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_not_finite(machine, dense, bad):
    X = dense.X.copy()
    X[1500, 3] = bad
    with pytest.raises(ValueError, match=r"NaN or infinity, first near row 1500"):
        machine.fit(chunked(X), dense.labels)
    assert not hasattr(machine, "shape_fit_")


def test_shapes(machine, dense):
    X = chunked(dense.X)
    with pytest.raises(ValueError, match="two dimensions"):
        machine.fit(X[:, 0], dense.labels)
    with pytest.raises(ValueError, match=r"2300 rows and y has 10"):
        machine.fit(X, dense.labels[:10])
    with pytest.raises(ValueError, match="samples and features"):
        machine.fit(X[:0], dense.labels[:0])
    with pytest.raises(ValueError, match="one weight per sample"):
        machine.fit(X, dense.labels, np.ones(3))


def test_kinds(machine, dense):
    with pytest.raises(ValueError, match="real numbers"):
        machine.fit(chunked(dense.X.astype(complex)), dense.labels)
    frame = dd.from_pandas(pd.DataFrame({"a": ["x", "y"] * 1150, "b": 1.0}), npartitions=2)
    with pytest.raises(ValueError, match="numbers"):
        machine.fit(frame, dense.labels)
    with pytest.raises(TypeError, match="takes a Dask array or dataframe"):
        machine.fit(frame["b"].to_bag() if hasattr(frame["b"], "to_bag") else frame["b"], dense.labels)


def test_what_is_not_supported(client, dense):
    many = np.arange(len(dense.labels)) % 3
    for options, y, message in (
        ({}, many, "separates two classes; y has 3"),
        ({"solver": "platt"}, dense.labels, "solver='auto' only"),
        ({"kernel": "precomputed"}, dense.labels, "named kernels"),
        ({"kernel": lambda A, B: A @ B.T}, dense.labels, "named kernels"),
        ({"probability": True}, dense.labels, "probability=True is not supported"),
    ):
        with pytest.raises(ValueError, match=message):
            widemargin.dask.SVC(client=client, **options).fit(chunked(dense.X), y)


def test_clients(dense):
    with pytest.raises(TypeError, match=r"must be a dask.distributed.Client"):
        widemargin.dask.SVC(client="scheduler:8786").fit(dense.X, dense.labels)


def test_no_client():
    """In a process of its own, which has no client that another test made."""
    code = (
        "import numpy as np, widemargin.dask as d\n"
        "try: d.SVC().fit(np.zeros((9, 2)), np.arange(9) % 2)\n"
        "except ValueError as error: print(error)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert found.stdout.startswith("There is no Dask client: create one first")


def test_few_rows_are_solved_here(client, dense):
    few = slice(0, 200)
    own = widemargin.dask.SVC(client=client).fit(chunked(dense.X)[few], dense.labels[few])
    assert own.certificate_.holds and own.certificate_.workers == 0
    assert "workers" not in str(own.certificate_)


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
