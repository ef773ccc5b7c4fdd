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
    for options, y, message in (
        ({"solver": "platt"}, dense.labels, "solver='auto' only"),
        ({"kernel": "precomputed"}, dense.labels, "named kernels"),
        ({"kernel": lambda A, B: A @ B.T}, dense.labels, "named kernels"),
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
    assert own.plan_ == "SVC on 200 rows: here; up to 2,048 are not worth a task."
