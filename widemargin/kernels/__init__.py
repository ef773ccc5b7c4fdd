"""Kernels, and the only place that distinguishes dense, sparse and bit-packed data.

Linear, Polynomial, Sigmoid, Cosine     functions of the inner product
Gaussian, Laplacian, ChiSquared         exponentials of a distance
Intersection                            what two histograms have in common
Precomputed, BlockKernel, PairKernel    given by a matrix or by a function of your own
k1 + k2, k1 * k2, 3.0 * k, k + 0.5      combinations
Spectrum, BlendedSpectrum, Mismatch,    strings: substrings in common, exactly or nearly, or
GappedKmer, Subsequence                 subsequences with gaps
make_kernel                             kernels by name
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from widemargin import _lazy
from widemargin.kernels.algebra import Constant, Product, Scaled, Sum
from widemargin.kernels.exponential_distance import ChiSquared, Laplacian
from widemargin.kernels.feature_kernel import FeatureKernel
from widemargin.kernels.gaussian import Gaussian
from widemargin.kernels.inner_product import Cosine, Linear, Polynomial, Sigmoid
from widemargin.kernels.intersection import Intersection
from widemargin.kernels.kernel import Kernel, RepresentationMismatch, Samples
from widemargin.kernels.names import KERNEL_NAMES, STRING_KERNELS, make_kernel
from widemargin.kernels.precomputed import Precomputed
from widemargin.kernels.user_function import BlockKernel, PairKernel

if TYPE_CHECKING:
    from widemargin.kernels.strings import BlendedSpectrum, GappedKmer, Mismatch, Spectrum, Subsequence

__all__ = [
    "KERNEL_NAMES",
    "BlendedSpectrum",
    "BlockKernel",
    "ChiSquared",
    "Constant",
    "Cosine",
    "FeatureKernel",
    "GappedKmer",
    "Gaussian",
    "Intersection",
    "Kernel",
    "Laplacian",
    "Linear",
    "Mismatch",
    "PairKernel",
    "Polynomial",
    "Precomputed",
    "Product",
    "RepresentationMismatch",
    "Samples",
    "Scaled",
    "Sigmoid",
    "Spectrum",
    "Subsequence",
    "Sum",
    "make_kernel",
]


def __getattr__(name: str) -> Any:
    """Import and return a string kernel on first use, since most users need none."""
    if name not in STRING_KERNELS.values():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_lazy.load("widemargin.kernels.strings"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
