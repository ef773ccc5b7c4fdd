"""Counting the substrings of strings, with or without positions that are ignored.

A pattern is a window of some length of which certain positions are read: positions 0, 1, 2 of 3 for substrings of three
letters, 0 and 2 of 3 for two letters with one ignored in between. A window of a string has a name, the number whose
digits are the letters read:

    name = sum_j letter_j base^(k - 1 - j) mod p,    p = 2^61 - 1

With base = number of letters the names of short windows are exact (base^k < p). Longer ones use a large fixed base:
fingerprints in the sense of Karp & Rabin (1987). Two different windows of k letters then share a name with a chance of
k / p, for a random base, so that ten million different windows of 30 letters share any with a chance below 1e-3.

Columns   small spaces (base^k up to DIRECT) use the name as the column, others its rank among the names that occur.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin._jit import jit
from widemargin.kernels.strings.letters import ALIEN, BREAK, Letters
from widemargin.parallel.tiles import available_cores, run_tiles

PRIME = (1 << 61) - 1
FINGERPRINT_BASE = 1_113_861_935_729_468_241  # below PRIME; drawn once at random, fixed so that results repeat
DIRECT = 1 << 16  # columns up to which the name is the column: one table of counts stays in the second-level cache
LETTERS_PER_TASK = 1 << 18  # letters named by one task: about a millisecond
SORT_BELOW = 16  # a row with less than 1/16 of all columns is sorted; others are read off the table of counts


@dataclass(frozen=True)
class Pattern:
    """A window and the positions read in it."""

    length: int
    positions: Sequence[int]

    @classmethod
    def solid(cls, k: int) -> Pattern:
        """All of k letters."""
        return cls(k, range(k))


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each named window occurs in each string.

    Attributes
    ----------
    matrix : CSR, columns ascending
    names : name of each column, ascending; None where column and name are the same
    """

    matrix: sparse.csr_array
    names: NDArray[np.int64] | None


def is_exact(n_letters: int, k: int) -> bool:
    """Whether different windows of k letters are certain to have different names."""
    return n_letters == 1 or (k < PRIME.bit_length() and n_letters**k < PRIME)  # no power of thousands of digits


def is_direct(n_letters: int, k: int) -> bool:
    """Whether names serve as columns."""
    return n_letters == 1 or (k < DIRECT.bit_length() and n_letters**k <= DIRECT)


def count_windows(letters: Letters, n_letters: int, pattern: Pattern) -> Counts:
    """Count the windows of a pattern in each string, on all cores."""
    k = len(pattern.positions)
    width = n_letters**k if is_direct(n_letters, k) else None
    if pattern.length > longest(letters):
        nothing = sparse.csr_array((len(letters.starts) - 1, width or 0))
        return Counts(nothing, None if width else np.empty(0, np.int64))
    base = n_letters if is_exact(n_letters, k) else FINGERPRINT_BASE
    high = pow(base, k - 1, PRIME)
    positions = np.array(pattern.positions, np.int64)
    cuts = _cuts(letters.starts, LETTERS_PER_TASK)
    pieces: list[Any] = [None] * (len(cuts) - 1)

    def name(number: int) -> None:
        part = letters.starts[cuts[number] : cuts[number + 1] + 1]
        named = name_windows(letters.codes, part, positions, pattern.length, base, high)
        pieces[number] = named if width is None else count_rows(*named, width)

    run_tiles(name, len(pieces), available_cores())
    if width is not None:
        return Counts(_stacked(pieces, width), None)
    names, columns = np.unique(np.concatenate([names for names, _ in pieces]), return_inverse=True)
    ends = np.cumsum([len(names) for names, _ in pieces])

    def count(number: int) -> None:
        own, rows = pieces[number]
        pieces[number] = count_rows(columns[ends[number] - len(own) : ends[number]], rows, len(names))

    run_tiles(count, len(pieces), available_cores())
    return Counts(_stacked(pieces, len(names)), names)


def longest(letters: Letters) -> int:
    """Letters of the longest string."""
    return int(np.diff(letters.starts).max(initial=0))


def _cuts(starts: NDArray[np.int64], size: int) -> list[int]:
    """Strings cut into tasks of about `size` letters: task t has the strings cuts[t]:cuts[t + 1]."""
    n = len(starts) - 1
    marks = np.searchsorted(starts, np.arange(size, int(starts[-1]), size)).tolist()
    return [*sorted({0, *(mark for mark in marks if mark < n)}), n]


def _stacked(pieces: list[tuple[NDArray, NDArray, NDArray]], width: int) -> sparse.csr_array:
    """The counts of all tasks, CSR arrays as `count_rows` returns them, as one matrix."""
    blocks = [
        sparse.csr_array((values, indices, indptr), shape=(len(indptr) - 1, width))
        for indptr, indices, values in pieces
    ]
    return sparse.vstack(blocks, format="csr")


@jit
def multiply(a, b):
    """a b mod p for 0 <= a, b < p, in halves of 31 bits: no partial sum reaches 2^63."""
    low, high = 0x7FFFFFFF, 31
    a_high, a_low, b_high, b_low = a >> high, a & low, b >> high, b & low
    middle = a_low * b_high + a_high * b_low
    total = 2 * a_high * b_high + (middle >> 30) + ((middle & 0x3FFFFFFF) << high) + a_low * b_low
    total = (total >> 61) + (total & PRIME)
    return total - PRIME if total >= PRIME else total


@jit
def append(name, base, letter):
    """Return the name of a window extended by a letter: name base + letter mod p."""
    name = multiply(name, base) + np.int64(letter)
    return name - PRIME if name >= PRIME else name


@jit
def name_windows(codes, starts, positions, length, base, high):
    """Names of the windows of the strings that begin at `starts`, and where the names of each string start."""
    k = positions.shape[0]
    n = starts.shape[0] - 1
    solid = k == length
    names = np.empty(starts[n] - starts[0], np.int64)
    rows = np.zeros(n + 1, np.int64)
    place = 0
    for s in range(n):
        run = 0  # letters since the last alien letter or break
        name = 0
        for i in range(starts[s], starts[s + 1]):
            if codes[i] == BREAK or (solid and codes[i] == ALIEN):
                run = 0
                name = 0
                continue
            run += 1
            if solid:  # roll: drop the letter that leaves, add the new one
                old = np.int64(codes[i - k]) if run > k else 0
                name = name - multiply(old, high)
                name = append(name + PRIME if name < 0 else name, base, codes[i])
            if run < length:
                continue
            if not solid:
                name = _name_of_chosen(codes, i - length + 1, positions, base)
                if name < 0:
                    continue
            names[place] = name
            place += 1
        rows[s + 1] = place
    return names[:place].copy(), rows


@jit
def _name_of_chosen(codes, window, positions, base):
    """Name of the letters at some positions of a window, -1 if one of them is alien."""
    name = 0
    for j in range(positions.shape[0]):
        if codes[window + positions[j]] == ALIEN:
            return -1
        name = append(name, base, codes[window + positions[j]])
    return name


@jit
def count_rows(columns, rows, n_columns):
    """CSR arrays of the counts of columns[rows[i]:rows[i + 1]] in each row, columns ascending."""
    n = rows.shape[0] - 1
    indptr = np.zeros(n + 1, np.int64)
    indices = np.empty(columns.shape[0], np.int32)
    values = np.empty(columns.shape[0])
    table = np.zeros(n_columns, np.int32)
    used = 0
    for i in range(n):
        begin = used
        for t in range(rows[i], rows[i + 1]):
            column = columns[t]
            if table[column] == 0:
                indices[used] = column
                used += 1
            table[column] += 1
        if (used - begin) * SORT_BELOW < n_columns:
            indices[begin:used].sort()
        else:
            place = begin
            for column in range(n_columns):
                if table[column] > 0:
                    indices[place] = column
                    place += 1
        for p in range(begin, used):
            values[p] = table[indices[p]]
            table[indices[p]] = 0
        indptr[i + 1] = used
    return indptr, indices[:used].copy(), values[:used].copy()
