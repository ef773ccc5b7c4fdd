"""Kernels between strings: DNA, proteins, text in any script.

Spectrum, BlendedSpectrum     substrings of one length, or of all lengths up to one, in common
Mismatch, GappedKmer          the same with some letters different, or ignored
Subsequence                   letters in common in the same order, with gaps in between

The first four are inner products of explicit sparse features (`kernel.features(strings)`), so training costs what it
costs on a sparse matrix. The last one compares two strings by dynamic programming.
"""

from widemargin.kernels.strings.gapped import GappedKmer
from widemargin.kernels.strings.mismatch import Mismatch
from widemargin.kernels.strings.spectrum import BlendedSpectrum, Spectrum
from widemargin.kernels.strings.subsequence import Subsequence

__all__ = ["BlendedSpectrum", "GappedKmer", "Mismatch", "Spectrum", "Subsequence"]
