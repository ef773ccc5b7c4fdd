"""Memory between fits: what is kept, for whom, and how much."""

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from widemargin import SVC
from widemargin.gram import memory, source
from widemargin.gram.memory import SparePieces, ThreadMemory, shaped


@pytest.fixture
def spare(monkeypatch):
    """Nothing kept yet, and at most 1000 bytes."""
    pieces = SparePieces()
    monkeypatch.setattr(memory, "SPARE", pieces)
    monkeypatch.setattr(memory, "KEPT_BYTES", 1000)
    return pieces


def test_the_smallest_piece_that_is_large_enough(spare):
    small, large = np.zeros(100, np.uint8), np.zeros(300, np.uint8)
    for piece in (large, small):
        spare.give(piece)
    assert spare.take(80) is small
    assert spare.take(80) is large
    assert spare.take(80).size == 80
    spare.give(small)
    spare.clear()
    assert not spare.pieces


def test_the_latest_pieces_within_the_limit(spare):
    pieces = [np.zeros(400, np.uint8) for _ in range(4)]
    for piece in pieces:
        spare.give(piece)
    assert [id(piece) for piece in spare.pieces] == [id(pieces[2]), id(pieces[3])]
    spare.give(np.zeros(300, np.uint8), limit=350)
    assert [piece.size for piece in spare.pieces] == [300]
    spare.give(np.zeros(2000, np.uint8), limit=10**9)
    assert not spare.pieces


def test_one_piece_serves_blocks_of_any_type_until_it_is_closed(spare):
    blocks = ThreadMemory()
    first = blocks.array(4, 5, np.float32, largest=100)
    assert first.shape == (4, 5) and first.flags.c_contiguous
    piece = first.base
    assert blocks.array(5, 10, np.float64).base is piece
    with ThreadPoolExecutor() as other:
        assert other.submit(blocks.array, 2, 2, np.float32).result().base is not piece
    blocks.close()
    assert len(spare.pieces) == 2 and any(kept is piece for kept in spare.pieces) and not blocks.pieces
    assert blocks.array(2, 2, np.float64).base is piece


def test_shaped_lies_in_its_piece():
    piece = np.zeros(64, np.uint8)
    shaped(piece, (2, 3), np.float64)[1, 2] = 1.0
    assert piece[40:48].any() and not piece[48:].any()


@pytest.mark.parametrize("cache_size, kept", [(None, True), (1e-3, False)])
def test_a_fit_leaves_memory_to_the_next_within_its_cache_size(cache_size, kept, monkeypatch):
    pieces = SparePieces()
    for module in ("memory", "cached"):
        monkeypatch.setattr(f"widemargin.gram.{module}.SPARE", pieces)
    monkeypatch.setattr(source, "FULL", 40)
    rng = np.random.default_rng(0)
    X, X2 = rng.normal(size=(2, 400, 3))
    y, y2 = X[:, 0] > rng.normal(size=400), X2[:, 0] > rng.normal(size=400)
    model = SVC(C=10, cache_size=cache_size).fit(X, y)
    before = model.dual_coef_.copy(), model.decision_function(X)
    assert bool(pieces.pieces) == kept
    again = SVC(C=10, cache_size=cache_size).fit(X2, y2)
    gc.collect()
    assert again.certificate_.holds
    assert np.array_equal(model.dual_coef_, before[0]) and np.array_equal(model.decision_function(X), before[1])
