"""Which Gram the active variables get: their whole matrix where a few rounds would ask for all of its rows."""

from dataclasses import replace

import numpy as np
import pytest

from widemargin import costs
from widemargin.costs import COSTS
from widemargin.gram import cached
from widemargin.gram.cached import CachedGram
from widemargin.gram.full import FullGram
from widemargin.kernels import Gaussian


@pytest.fixture
def gram(monkeypatch):
    monkeypatch.setattr(cached, "COSTS", replace(COSTS, worth_a_part=0.0))
    monkeypatch.setattr(cached, "FULL", 10)
    X = np.random.default_rng(0).normal(size=(300, 3))
    kernel = Gaussian(0.5)
    return CachedGram(kernel, kernel.prepare(X, np.float32), np.float32, budget=300 * 300 * 4)


@pytest.mark.parametrize("n_rows, whole", [(25, True), (24, False)])
def test_whole_where_four_rounds_ask_for_all_rows(gram, n_rows, whole):
    index = np.arange(0, 300, 3)
    part = gram.part(index, n_rows)
    assert isinstance(part, FullGram if whole else CachedGram)
    assert np.allclose(part.block(np.arange(100)), gram.block(index), atol=1e-6)


def test_not_beyond_the_budget(gram):
    gram.cache.capacity = 20  # rows of 300 values: less than 100 rows of 100
    assert isinstance(gram.part(np.arange(100), 90), CachedGram)


@pytest.mark.parametrize("largest, whole", [(100, True), (99, False)])
def test_not_beyond_what_memory_is_worth(gram, monkeypatch, largest, whole):
    monkeypatch.setattr(cached, "LARGEST_WHOLE_PART", largest)
    assert isinstance(gram.part(np.arange(100), 90), FullGram if whole else CachedGram)


def test_blocks_gathered_on_threads(monkeypatch):
    monkeypatch.setattr(costs, "COSTS", replace(COSTS, worth_threads=0.0))
    matrix = np.random.default_rng(0).normal(size=(700, 700))
    index = np.sort(np.random.default_rng(1).choice(700, 600, replace=False))
    assert np.array_equal(FullGram(matrix, n_threads=3).block(index), matrix[np.ix_(index, index)])
