"""Letters in common in the same order, gaps allowed: the gap-weighted subsequence kernel, by dynamic programming.

    phi_u(s) = sum over all ways to spell u by letters i_1 < ... < i_k of s of decay^(i_k - i_1 + 1)

There are far too many features to compute, but the kernel follows from a recursion over the prefixes of both strings,
k |s| |t| steps in all. With D_0 = 1 and, for l = 1, ..., k,

    S_l(i, j) = decay^2 D_(l-1)(i-1, j-1) where s_i = t_j, else 0
    D_l(i, j) = S_l(i, j) + decay D_l(i-1, j) + decay D_l(i, j-1) - decay^2 D_l(i-1, j-1)
    k(s, t)   = sum over i, j of S_k(i, j)

See  Lodhi, Saunders, Shawe-Taylor, Cristianini & Watkins (2002), Text classification using string kernels, JMLR 2;
     Shawe-Taylor & Cristianini (2004), section 11.5, whose recursion this is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from widemargin._jit import jit
from widemargin.kernels.errors import ErrorTerms, multiplicative, unit_of
from widemargin.kernels.kernel import Kernel, RepresentationMismatch, Samples
from widemargin.kernels.row_view import flat_rows
from widemargin.kernels.samples.raw import read_precision
from widemargin.kernels.strings.kmer_kernel import check_whole
from widemargin.kernels.strings.letters import ALIEN, check_alphabet, code_points, encode, read_strings
from widemargin.parallel.tiles import available_cores, run_tiles

MOST_ENTRIES = 50_000_000  # numbers in the tables of two strings, per thread: 400 MB
STEP_ERROR = 16.0  # four roundings of a step of the recursion, of terms that add up to at most four times its result


@dataclass(frozen=True, eq=False)
class EncodedStrings(Samples):
    """Strings start:stop as letter numbers.

    Attributes
    ----------
    codes, starts : letters of all strings, and where each string starts
    own : k(s, s) of each string before normalisation
    dtype : precision of the kernel values; the recursion itself always runs in float64
    """

    codes: NDArray[np.uint32]
    starts: NDArray[np.int64]
    own: NDArray[np.float64]
    dtype: np.dtype

    def __len__(self) -> int:
        return len(self.own)

    def take(self, index: NDArray[np.int64]) -> EncodedStrings:
        pieces = [self.codes[self.starts[i] : self.starts[i + 1]] for i in index]
        starts = np.concatenate(([0], np.cumsum([len(piece) for piece in pieces], dtype=np.int64)))
        codes = np.concatenate(pieces) if pieces else np.empty(0, np.uint32)
        return EncodedStrings(codes, starts, self.own[index], self.dtype)

    def tile(self, start: int, stop: int) -> EncodedStrings:
        return replace(self, starts=self.starts[start : stop + 1], own=self.own[start:stop])


@dataclass(frozen=True)
class Subsequence(Kernel):
    """Subsequences of k letters in common, each weighted by decay to the power of the stretch it spans.

    Parameters
    ----------
    k : int, default 3
        Letters of a subsequence.
    decay : float, default 0.5
        Weight per letter spanned, gaps included; above 0, at most 1. Small values favour contiguous subsequences.
    alphabet : {"dna", "protein"}, str or None, default None
        Letters that count; others match nothing. None takes all characters as letters.
    normalize : bool, default False
        Divide by sqrt(k(s, s) k(t, t)): for strings of different lengths.

    Examples
    --------
    >>> from widemargin.kernels import Subsequence
    >>> Subsequence(k=2, decay=0.5)(["cat"], ["car", "cart"]).tolist()  # ca: 1/4 1/4; also ct: 1/8 1/16, at: 1/4 1/8
    [[0.0625, 0.1015625]]
    """

    k: int = 3
    decay: float = 0.5
    alphabet: str | None = None
    normalize: bool = False

    accepts_objects = True
    is_psd = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_whole("k", self.k, 1))
        object.__setattr__(self, "decay", float(self.decay))
        if not 0.0 < self.decay <= 1.0:
            raise ValueError(f"decay must lie above 0 and be at most 1; got {self.decay!r}. 0.5 is usual.")
        object.__setattr__(self, "alphabet", check_alphabet(self.alphabet, False))
        object.__setattr__(self, "normalize", bool(self.normalize))

    def prepare(self, X: Any, dtype: DTypeLike = np.float64, like: Samples | None = None) -> EncodedStrings:
        if like is not None and not isinstance(like, EncodedStrings):
            raise RepresentationMismatch(f"Strings cannot follow {type(like).__name__}.")
        points, starts = code_points(read_strings(X))
        longest = int(np.diff(starts).max(initial=0))
        if self.k <= longest and self.k * (longest + 1) > MOST_ENTRIES:
            raise ValueError(
                f"k={self.k:,} letters of strings of up to {longest:,} take tables of {self.k * (longest + 1):,} "
                f"numbers, more than {MOST_ENTRIES:,}: use a smaller k or shorter strings."
            )
        codes = points.astype(np.uint32) if self.alphabet is None else encode(points, starts, self.alphabet).codes
        own = np.empty(len(starts) - 1)

        def compare_with_itself(number: int) -> None:
            one = starts[number : number + 2]
            _compare_all(codes, one, codes, one, self.k, self.decay, own[number : number + 1], 1)

        run_tiles(compare_with_itself, len(own), available_cores())
        return EncodedStrings(codes, starts, own, read_precision(dtype) if like is None else like.dtype)

    def block(self, left: EncodedStrings, right: EncodedStrings, out: NDArray) -> NDArray:  # type: ignore[override]
        if not out.size:
            return out
        _compare_all(left.codes, left.starts, right.codes, right.starts, self.k, self.decay, *flat_rows(out))
        if self.normalize:
            out *= _inverse_roots(left.own)[:, None].astype(out.dtype)
            out *= _inverse_roots(right.own)[None, :].astype(out.dtype)
        return out

    def diag(self, samples: EncodedStrings) -> NDArray[np.float64]:  # type: ignore[override]
        return (samples.own > 0).astype(np.float64) if self.normalize else samples.own.copy()

    def errors(self, samples: EncodedStrings) -> ErrorTerms:  # type: ignore[override]
        """Errors of the recursion in float64, and of the values in their own precision.

        All D are >= 0, and D_l(i, j) is at least decay D_l(i-1, j), decay D_l(i, j-1) and decay^2 D_l(i-1, j-1). So a
        step rounds by at most STEP_ERROR u D_l(i, j), and an error made at (i', j') arrives at (i, j) times
        decay^(i - i' + j - j'), where it is at most STEP_ERROR u D_l(i, j): |s| |t| of these for each of k tables, and
        as many additions at the end. Normalised values divide by two more such values.
        """
        steps = float(np.diff(samples.starts).max(initial=0)) ** 2
        recursion = (STEP_ERROR * self.k + 1.0) * steps * unit_of(np.float64)
        size = np.where(np.isfinite(samples.own), np.sqrt(self.diag(samples)), np.inf)
        factor = np.where(self._underflows(samples, steps), np.inf, size)
        return multiplicative(2.0 * recursion + 8.0 * unit_of(samples.dtype), factor, size)

    def _underflows(self, strings: EncodedStrings, steps: float) -> NDArray[np.bool_]:
        """Return the strings s whose k(s, s) is so small, or zero because of underflow, that underflow matters.

        Underflow costs at most the smallest normal number in each of 8 k `steps` operations: two units of k(s, s) if
        that is larger than that many by a factor of 1 / u. No k(s, s) but 0 is below decay^(2 |s|).
        """
        lengths, tiny = np.diff(strings.starts), float(np.finfo(strings.dtype).tiny)
        could_be_lost = (lengths >= self.k) & (2.0 * lengths * np.log(self.decay) < np.log(tiny) + 40.0)
        is_small = strings.own < 8.0 * self.k * max(1.0, steps) * tiny / unit_of(strings.dtype)
        return np.where(strings.own == 0.0, could_be_lost, is_small | ~np.isfinite(strings.own))


def _inverse_roots(own: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / sqrt(k(s, s)), and 0 for a string without subsequences."""
    return np.divide(1.0, np.sqrt(own), out=np.zeros(len(own)), where=own > 0)


@jit
def compare_strings(s, t, k, decay, D):
    """k(s, t); D of shape (k, len(t) + 1) holds row i - 1 of the tables D_0, ..., D_(k-1), and then row i."""
    m = t.shape[0]
    for l in range(k):
        for j in range(m + 1):
            D[l, j] = 1.0 if l == 0 else 0.0
    square = decay * decay
    total = 0.0
    for i in range(s.shape[0]):
        letter = s[i]
        if letter != ALIEN:
            last = D[k - 1]
            for j in range(m):
                if t[j] == letter:
                    total += square * last[j]
        for l in range(k - 1, 0, -1):  # from the top, since D_(l-1) is still needed at row i - 1
            row, below = D[l], D[l - 1]
            before = row[0]  # D_l(i-1, j-1)
            for j in range(m):
                above = row[j + 1]
                value = decay * (above + row[j] - decay * before)
                if t[j] == letter and letter != ALIEN:
                    value += square * below[j]
                before = above
                row[j + 1] = value
    return total


@jit
def _compare_all(codes, starts, others, other_starts, k, decay, flat, step):
    """flat[i * step + j] = k(s_i, t_j)."""
    longest = 0
    for j in range(other_starts.shape[0] - 1):
        longest = max(longest, other_starts[j + 1] - other_starts[j])
    D = np.empty((k if k <= longest else 0, longest + 1))
    for i in range(starts.shape[0] - 1):
        s = codes[starts[i] : starts[i + 1]]
        for j in range(other_starts.shape[0] - 1):
            t = others[other_starts[j] : other_starts[j + 1]]
            fits = k <= len(s) and k <= len(t)
            flat[i * step + j] = compare_strings(s, t, k, decay, D) if fits else 0.0
