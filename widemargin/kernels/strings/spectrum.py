"""Substrings in common: the spectrum kernel and its blend over lengths.

    Spectrum          phi_u(s) = how often u occurs in s, for every string u of k letters
    BlendedSpectrum   phi_u(s) = decay^|u| times how often u occurs in s, for every u of `shortest` to k letters

See  Leslie, Eskin & Noble (2002), The spectrum kernel: a string kernel for SVM protein classification, PSB 7;
     Shawe-Taylor & Cristianini (2004), Kernel Methods for Pattern Analysis, section 11.3; Ng & Ma, CS229 notes, part V
     (features counting k-length substrings).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from widemargin.kernels.strings.kmer_kernel import KmerKernel, check_whole
from widemargin.kernels.strings.kmers import Pattern


@dataclass(frozen=True)
class Spectrum(KmerKernel):
    """k(s, t) = sum over all strings u of k letters of (times u occurs in s) (times u occurs in t).

    Parameters
    ----------
    k : int, default 3
        Letters of a substring.
    alphabet : {"dna", "protein"}, str or None, default None
        Letters that count; substrings with any other are left out. None takes all characters as letters.
    reverse_complement : bool, default False
        Count both strands of DNA: a string and its reverse complement have the same features.
    normalize : bool, default False
        Divide by the lengths of the feature vectors, so that k(s, s) = 1: for strings of different lengths.

    Examples
    --------
    >>> from widemargin.kernels import Spectrum
    >>> Spectrum(k=2)(["banana"], ["ananas", "bandana"]).tolist()  # an 2 x 2 and 2 x 2, na 2 x 2 and 2 x 1, ba 1 x 1
    [[8.0, 7.0]]
    >>> from widemargin import SVC
    >>> machine = SVC(kernel=Spectrum(k=2)).fit(["banana", "ananas", "cherry", "merry"], ["a", "a", "e", "e"])
    >>> machine.predict(["bandana", "sherry"]).tolist()
    ['a', 'e']
    """

    k: int = 3
    alphabet: str | None = None
    reverse_complement: bool = False
    normalize: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_whole("k", self.k, 1))
        self._check_strings_options()


@dataclass(frozen=True)
class BlendedSpectrum(KmerKernel):
    """k(s, t) = sum of decay^(2 l) times the spectrum kernel of length l, for l = shortest, ..., k.

    Parameters
    ----------
    k : int, default 3
        Letters of the longest substrings.
    shortest : int, default 1
        Letters of the shortest substrings.
    decay : float, default 1.0
        Weight of an occurrence per letter; above 1 favours long substrings, which are rare.
    alphabet, reverse_complement, normalize
        As in `Spectrum`.

    Examples
    --------
    >>> from widemargin.kernels import BlendedSpectrum, Spectrum
    >>> both = BlendedSpectrum(k=2)(["banana"], ["bandana"])
    >>> both.tolist() == (Spectrum(1) + Spectrum(2))(["banana"], ["bandana"]).tolist()
    True
    """

    k: int = 3
    shortest: int = 1
    decay: float = 1.0
    alphabet: str | None = None
    reverse_complement: bool = False
    normalize: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "shortest", check_whole("shortest", self.shortest, 1))
        object.__setattr__(self, "k", check_whole("k", self.k, self.shortest))
        object.__setattr__(self, "decay", float(self.decay))
        if not 0.0 < self.decay < float("inf"):
            raise ValueError(f"decay must be a positive number; got {self.decay!r}.")
        self._check_strings_options()

    def _patterns(self, longest: int) -> Sequence[tuple[Pattern, float]]:
        last = max(self.shortest, min(self.k, longest))
        return [(Pattern.solid(length), self.decay**length) for length in range(self.shortest, last + 1)]
