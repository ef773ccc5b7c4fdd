"""Strings as arrays of letter numbers, all strings one after the other.

A declared alphabet ("dna", "protein", or your own letters) leaves out every substring with a letter outside it (ALIEN),
such as N in DNA; without one, whatever characters occur are the letters. "dna" and "protein" read small letters as
capitals, and "dna" reads U as T.

Both strands   with reverse_complement a string represents itself and its reverse complement, the other strand of
               the double helix read backwards: phi(s) + phi(rc(s)). The two are concatenated with a
               BREAK in between, which no window crosses.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

NAMED_ALPHABETS = {"dna": "ACGT", "protein": "ACDEFGHIKLMNPQRSTVWY"}
COMPLEMENT = np.array([3, 2, 1, 0, 4], np.uint32)  # of A, C, G, T in this order; 4 is any other letter

ALIEN = np.uint32(0xFFFFFFFF)  # a letter outside the alphabet; equal to no letter, itself included
BREAK = np.uint32(0xFFFFFFFE)  # the gap between two strands


@dataclass(frozen=True, eq=False)
class Letters:
    """Strings as numbers.

    Attributes
    ----------
    codes : letters of all strings, one string after the other
    starts : string i is codes[starts[i]:starts[i + 1]]
    n_aliens : letters outside the alphabet
    """

    codes: NDArray[np.uint32]
    starts: NDArray[np.int64]
    n_aliens: int


def read_strings(X: Any) -> list[str]:
    """Return a list of strings from a list, an array or a table column; raise an error for other data."""
    if isinstance(X, str | bytes):
        raise TypeError(
            f"A string kernel takes a list of strings, one per sample, and got a single one: {X[:20]!r}. "
            "Put it into a list."
        )
    shape = getattr(X, "shape", None)
    if shape is not None and len(shape) == 2 and shape[1] == 1:
        X = np.asarray(X).ravel()
    elif shape is not None and len(shape) != 1:
        raise ValueError(
            f"A string kernel takes one string per sample; got a table of shape {shape}. Pass the column that holds "
            "the strings."
        )
    strings = list(X)
    if not {type(item) for item in strings} <= {str, np.str_}:
        place, wrong = next((i, item) for i, item in enumerate(strings) if not isinstance(item, str))
        raise TypeError(
            f"A string kernel takes strings; sample {place} is {_short(wrong)}, of type {type(wrong).__name__}. "
            "Convert it with str(), decode bytes, and leave out or fill in missing values."
        )
    return strings


def check_alphabet(alphabet: Any, reverse_complement: bool) -> str | None:
    """Return the alphabet to use; raise ValueError if it is invalid."""
    if alphabet is None:
        return "dna" if reverse_complement else None
    if not isinstance(alphabet, str) or len(alphabet) < 2 or len(set(alphabet)) != len(alphabet):
        raise ValueError(
            f"alphabet must be 'dna', 'protein', a string of two or more different letters, or None for any; got "
            f"{_short(alphabet)}."
        )
    if reverse_complement and alphabet != "dna":
        raise ValueError(
            f"reverse_complement=True is about the two strands of DNA: use alphabet='dna'; got {_short(alphabet)}."
        )
    return alphabet


def letters_of(alphabet: str) -> str:
    """The letters that an alphabet, by name or spelled out, consists of."""
    return NAMED_ALPHABETS.get(alphabet, alphabet)


def code_points(strings: list[str]) -> tuple[NDArray, NDArray[np.int64]]:
    """Characters of all strings as numbers, and where each string starts."""
    joined = "".join(strings)
    starts = np.zeros(len(strings) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, strings), np.int64, len(strings)), out=starts[1:])
    if joined.isascii():
        return np.frombuffer(joined.encode("ascii"), np.uint8), starts
    return np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), "<u4"), starts


def used_letters(points: NDArray) -> str:
    """The characters that occur, in the order of Unicode."""
    present = np.zeros(256 if points.dtype == np.uint8 else sys.maxunicode + 1, bool)
    present[points] = True
    return "".join(map(chr, np.flatnonzero(present)))


def encode(points: NDArray, starts: NDArray[np.int64], alphabet: str, reverse_complement: bool = False) -> Letters:
    """Number the letters by their place in the alphabet."""
    letters = letters_of(alphabet)
    size = max(256, max(map(ord, letters), default=0) + 1)  # every byte, and every letter
    table = np.full(size + 1, ALIEN, np.uint32)  # the last entry is for all other code points
    numbers = np.arange(len(letters), dtype=np.uint32)
    if alphabet in NAMED_ALPHABETS:
        table[[ord(letter) for letter in letters.lower()]] = numbers
    if alphabet == "dna":
        table[[ord("U"), ord("u")]] = letters.index("T")
    table[[ord(letter) for letter in letters]] = numbers
    codes = table[points if points.dtype == np.uint8 else np.minimum(points, size)]
    n_aliens = int(np.count_nonzero(codes == ALIEN))
    if reverse_complement:
        codes, starts = _both_strands(codes, starts)
    return Letters(codes, starts, n_aliens)


def _both_strands(codes: NDArray[np.uint32], starts: NDArray[np.int64]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Each string followed by a break and by its reverse complement."""
    lengths = np.diff(starts)
    both = np.full(2 * len(codes) + len(lengths), BREAK, np.uint32)
    other = COMPLEMENT[np.minimum(codes, len(COMPLEMENT) - 1)]
    other[other == len(COMPLEMENT) - 1] = ALIEN
    new_starts = np.concatenate(([0], np.cumsum(2 * lengths + 1)))
    inside = np.arange(len(codes)) - np.repeat(starts[:-1], lengths)
    first = np.repeat(new_starts[:-1], lengths)
    both[first + inside] = codes
    both[first + 2 * np.repeat(lengths, lengths) - inside] = other
    return both, new_starts


def _short(value: Any) -> str:
    """Return a shortened representation of a value, for error messages."""
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
