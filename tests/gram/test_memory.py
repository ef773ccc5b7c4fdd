"""Memory used again within a fit: what is valid, and for whom."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from widemargin.gram.memory import ThreadMemory


def test_one_piece_serves_blocks_of_any_type():
    blocks = ThreadMemory()
    first = blocks.array(4, 5, np.float32, largest=100)
    assert first.shape == (4, 5) and first.dtype == np.float32 and first.flags.c_contiguous
    piece = first.base
    assert piece.size == 400
    again = blocks.array(5, 10, np.float64)
    assert again.base is piece and again.shape == (5, 10) and again.dtype == np.float64
    larger = blocks.array(11, 10, np.float64)
    assert larger.base.size == 880 and blocks.array(4, 5, np.float32).base is larger.base
    assert blocks.array(0, 3, np.float64).shape == (0, 3)


def test_threads_do_not_share_a_piece():
    blocks = ThreadMemory()
    here = blocks.array(2, 2, np.float32)
    with ThreadPoolExecutor() as other:
        there = other.submit(blocks.array, 2, 2, np.float32).result()
    assert there.base is not here.base
