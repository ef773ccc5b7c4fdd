"""Substrings with ignored letters in common: the gapped k-mer kernel.

    phi_(P, u)(s) = how many windows of k + gaps letters of s spell u at the k positions P

One feature for every choice of k positions out of k + gaps and every string u of k letters: binomial(k + gaps, k)
features per letter of s. Two windows that differ in d letters share binomial(k + gaps - d, k) of them.

See  Ghandi, Lee, Mohammad-Noori & Beer (2014), Enhanced regulatory sequence prediction using gapped k-mer features,
     PLoS Computational Biology 10(7), where a window has l = k + gaps letters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

from widemargin.kernels.strings.kmer_kernel import KmerKernel, check_whole
from widemargin.kernels.strings.kmers import Pattern

MOST_PATTERNS = 5_000  # choices of positions; every letter of a string becomes as many features


@dataclass(frozen=True)
class GappedKmer(KmerKernel):
    """Windows in common of which `gaps` letters, any of them, are ignored.

    Parameters
    ----------
    k : int, default 4
        Letters read in a window.
    gaps : int, default 2
        Letters ignored in a window; 0 is the spectrum kernel.
    alphabet, reverse_complement, normalize
        As in `Spectrum`.

    Examples
    --------
    >>> from widemargin.kernels import GappedKmer
    >>> GappedKmer(k=2, gaps=1)(["cat"], ["cut", "cat"]).tolist()  # c.t in common with cut; ca., c.t, .at with itself
    [[1.0, 3.0]]
    """

    k: int = 4
    gaps: int = 2
    alphabet: str | None = None
    reverse_complement: bool = False
    normalize: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_whole("k", self.k, 1))
        object.__setattr__(self, "gaps", check_whole("gaps", self.gaps, 0))
        few, many = sorted((self.k, self.gaps))
        if few > 0 and (many >= MOST_PATTERNS or comb(few + many, few) > MOST_PATTERNS):
            raise ValueError(
                f"k={self.k} letters of a window of {self.k + self.gaps} can be chosen in more than {MOST_PATTERNS:,} "
                "ways, each with features of its own: use fewer gaps or a smaller k."
            )
        self._check_strings_options()

    def _patterns(self, longest: int) -> Sequence[tuple[Pattern, float]]:
        if self.gaps == 0:
            return [(Pattern.solid(self.k), 1.0)]
        length = self.k + self.gaps
        return [(Pattern(length, positions), 1.0) for positions in combinations(range(length), self.k)]
