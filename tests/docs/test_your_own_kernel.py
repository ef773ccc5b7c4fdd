"""The tutorial on kernels cannot rot: its code is the code of the files it names, and it runs."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from widemargin import SVC
from widemargin.kernels import Intersection, PairKernel

pytest.importorskip("pandas")
pytestmark = pytest.mark.needs_compiler

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "your-own-kernel.md"
SOURCES = [ROOT / "examples" / "own_kernels.py", ROOT / "widemargin" / "kernels" / "intersection.py"]
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_every_block_stands_in_a_file(number):
    assert any(BLOCKS[number] in source.read_text(encoding="utf-8") for source in SOURCES), BLOCKS[number]


def test_the_class_is_shown_whole():
    assert any(block.startswith("from __future__") and "class Intersection" in block for block in BLOCKS)
    text = SOURCES[1].read_text(encoding="utf-8")
    assert text[text.index("from __future__") :] in BLOCKS


def test_the_example_runs_and_says_what_the_page_says(capsys):
    names = runpy.run_path(str(SOURCES[0]))
    said = capsys.readouterr().out
    assert names["machine"].status_.name == "INDEFINITE" and "INDEFINITE - 1 warning" in said
    assert "Nothing on these 8 samples" in said and "Not a kernel on these 200 samples" in said
    assert "dicts               ['svm', 'football']" in said and "['ring', 'star']" in said
    scores = [float(score) for score in re.findall(r"(?:function|product) +(0\.\d+)", said)]
    assert len(scores) == 3 and min(scores) > 0.85


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_intersection(dtype, rng):
    X = rng.integers(0, 9, size=(30, 7)) * rng.random((30, 7))
    expected = np.minimum(X[:, None], X[None]).sum(axis=2)
    kernel = Intersection()
    samples = kernel.prepare(X, dtype)
    values = kernel.block(samples.take(np.arange(5, 12)), samples.tile(2, 20), np.empty((7, 18), dtype))
    assert np.abs(values - expected[5:12, 2:20]).max() <= kernel.rounding(samples)
    np.testing.assert_allclose(kernel.diag(samples), X.sum(axis=1), rtol=1e-6)
    np.testing.assert_allclose(kernel(X, X[:3]), expected[:, :3], rtol=1e-12)


def test_intersection_refuses_what_is_no_histogram():
    with pytest.raises(ValueError, match="no negative entries"):
        Intersection().prepare([[1.0, -1.0]])
    with pytest.raises(ValueError, match="3 features"):
        Intersection().prepare([[1.0, 2.0, 3.0]], like=Intersection().prepare([[1.0, 1.0]]))


def test_class_and_pair_function_train_the_same_machine(rng):
    X = rng.random((60, 5))
    y = X[:, 0] > X[:, 1]

    def smaller(x, z):
        return np.minimum(x, z).sum()

    one, two = (SVC(kernel=kernel, tol=1e-8).fit(X, y) for kernel in (Intersection(), PairKernel(smaller)))
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-6)


def test_a_table_of_numbers_arrives_as_an_array_and_a_mixed_one_as_a_table():
    import pandas as pd
    import polars as pl

    seen = []

    def look(A, B):
        seen.append(type(A))
        return np.ones((len(A), len(B))) + (np.asarray(A)[:, :1] == np.asarray(B)[:, :1].T)

    for kind in (pd.DataFrame, pl.DataFrame):
        for table, expected in (
            (kind({"a": [1.0, 2.0, 3.0], "b": [1, 2, 2]}), np.ndarray),
            (kind({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "z"]}), kind),
        ):
            seen.clear()
            machine = SVC(kernel=look).fit(table, [0, 1, 0])
            assert machine.predict(table).shape == (3,)
            assert set(seen) == {expected}


def test_the_page_on_strings_runs():
    text = (ROOT / "docs" / "strings.md").read_text(encoding="utf-8")
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.S):
        exec(compile(block, "strings.md", "exec"), names)
    assert names["machine"].predict(["bandana", "sherry"]).tolist() == ["a", "e"]


@pytest.mark.parametrize("page", ["your-own-kernel.md", "strings.md"])
def test_links_lead_somewhere(page):
    path = ROOT / "docs" / page
    links = re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8"))
    assert all((path.parent / link).exists() for link in links)
