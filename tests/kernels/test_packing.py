"""Packed words are those of NumPy, dense and sparse, whatever the two values are."""

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin.kernels.samples.binary import binary_rows, holds_only, two_values


@pytest.mark.parametrize("values", [(0.0, 1.0), (-1.0, 1.0), (-2.5, 0.0), (0.0, 3.0), (1.0, 2.0)])
@pytest.mark.parametrize("d", [1, 63, 64, 65, 130])
@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
def test_words_are_those_of_numpy(values, d, wrap):
    X = np.random.default_rng(0).choice(values, size=(57, d), p=[0.7, 0.3])
    packed = binary_rows(wrap(X), np.float64, values)
    bits = np.zeros((57, -(-d // 64) * 64), bool)
    bits[:, :d] = values[1] == X
    assert np.array_equal(packed.words.T, np.packbits(bits, axis=1, bitorder="little").view("<u8"))
    assert np.allclose(packed.squares, (X**2).sum(axis=1))


@pytest.mark.parametrize("wrong", [2.0, np.nan, 1e-300, -1.0])
@pytest.mark.parametrize("place", [0, 4095, 4096, 9999])
def test_one_other_value_anywhere_is_seen(wrong, place):
    X = (np.random.default_rng(0).random((100, 100)) > 0.5).astype(float)
    assert holds_only(X) and two_values(X) == (0.0, 1.0)
    X.flat[place] = wrong
    assert not holds_only(X)
