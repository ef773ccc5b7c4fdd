"""Base class of kernels of counted substrings: reading strings, choosing columns, normalising.

    k(s, t) = phi(s)'phi(t)                                normalize=False
    k(s, t) = phi(s)'phi(t) / (|phi(s)| |phi(t)|)          normalize=True; 0 where a string has no features

A kernel is a list of patterns with weights; phi has one stretch of columns for each pattern.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin.kernels.feature_kernel import FeatureKernel, Features
from widemargin.kernels.strings.kmers import Counts, Pattern, count_windows, longest
from widemargin.kernels.strings.letters import (
    Letters,
    check_alphabet,
    code_points,
    encode,
    letters_of,
    read_strings,
    used_letters,
)

MOST_ENTRIES = 2_000_000_000  # largest number of features, over all strings, that is written out: 24 GB


@dataclass(frozen=True, eq=False)
class Columns:
    """The meaning of the columns.

    Attributes
    ----------
    alphabet : the letters, by name or spelled out
    names : for each pattern the names of its windows, ascending, or None where the name is the column
    widths : for each pattern its number of columns
    """

    alphabet: str
    names: tuple[NDArray[np.int64] | None, ...]
    widths: tuple[int, ...]


class KmerKernel(FeatureKernel):
    """Kernels of counted substrings."""

    k: int
    alphabet: str | None
    reverse_complement: bool
    normalize: bool

    def _patterns(self, longest: int) -> Sequence[tuple[Pattern, float]]:
        """Return the patterns to count in strings of `longest` letters at most, and their weights.

        By default all substrings of k letters. Of patterns by ascending length those that fit in no string may be
        missing at the end.
        """
        return [(Pattern.solid(self.k), 1.0)]

    def _check_strings_options(self) -> None:
        """Read the options that all these kernels have."""
        object.__setattr__(self, "alphabet", check_alphabet(self.alphabet, self.reverse_complement))
        object.__setattr__(self, "reverse_complement", bool(self.reverse_complement))
        object.__setattr__(self, "normalize", bool(self.normalize))

    def explicit(self, X: Any, columns: Columns | None = None) -> Features:
        """The features of strings.

        Parameters
        ----------
        X : sequence of n_samples strings
        columns : `columns` of the features of other strings, whose meaning is kept; None makes new ones

        Returns
        -------
        features : Features
            With `matrix`, CSR of shape (n_samples, n_features).
        """
        points, starts = code_points(read_strings(X))
        alphabet = self.alphabet or (columns.alphabet if columns is not None else used_letters(points))
        letters = encode(points, starts, alphabet, self.reverse_complement)
        parts = self._count(letters, alphabet)
        squares = _squared_lengths(parts)
        if letters.n_aliens and self.alphabet is None:  # features without a column count in |phi|, too
            own = used_letters(points)
            squares = _squared_lengths(self._count(encode(points, starts, own, self.reverse_complement), own))
        if columns is None:
            names, widths = zip(*((part.names, part.matrix.shape[1]) for part, _ in parts))
            columns = Columns(alphabet, names, widths)
        blocks = [
            weight * _in_columns(part, known, width)
            for (part, weight), known, width in zip(parts, columns.names, columns.widths)
        ]
        missing = sum(columns.widths[len(parts) :])  # of patterns that are longer than these strings
        if missing:
            blocks.append(sparse.csr_array((len(starts) - 1, missing)))
        matrix = blocks[0] if len(blocks) == 1 else sparse.hstack(blocks, format="csr")
        if self.normalize:
            scale = np.divide(1.0, np.sqrt(squares), out=np.zeros(len(squares)), where=squares > 0)
            matrix.data *= np.repeat(scale, np.diff(matrix.indptr))
            squares = (squares > 0).astype(np.float64)
        return Features(matrix, columns, squares)

    def _count(self, letters: Letters, alphabet: str) -> list[tuple[Counts, float]]:
        """Counts of each pattern, and its weight."""
        patterns = self._patterns(longest(letters))
        if len(patterns) * len(letters.codes) > MOST_ENTRIES:
            raise ValueError(
                f"{self!r} would write out {len(patterns):,} features for each of {len(letters.codes):,} letters: too "
                "many to hold. Use shorter windows or fewer gaps, or Spectrum, which has one."
            )
        n_letters = max(1, len(letters_of(alphabet)))
        return [(count_windows(letters, n_letters, pattern), weight) for pattern, weight in patterns]


def check_whole(name: str, value: Any, least: int) -> int:
    """Return an integer not smaller than `least`; raise ValueError otherwise."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number, {least} or more; got {value!r}.")
    return int(value)


def _squared_lengths(parts: Sequence[tuple[Counts, float]]) -> NDArray[np.float64]:
    """|phi|^2 of each string."""
    return sum(weight**2 * part.matrix.power(2).sum(axis=1) for part, weight in parts)


def _in_columns(part: Counts, known: NDArray[np.int64] | None, width: int) -> sparse.csr_array:
    """Return the counts in the columns of known names; other names are dropped."""
    if known is part.names or known is None or part.names is None:  # the same, or names are columns for both
        return part.matrix
    _, column, own = np.intersect1d(known, part.names, assume_unique=True, return_indices=True)
    shared = part.matrix[:, own]
    indices = column[shared.indices].astype(np.int32)
    return sparse.csr_array((shared.data, indices, shared.indptr), shape=(shared.shape[0], width))
