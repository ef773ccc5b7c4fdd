"""Kernels: what "similar" means, and the only place that knows dense from sparse from bit-packed data.

Linear, Polynomial, Sigmoid, Cosine     functions of the inner product
Gaussian, Laplacian, ChiSquared         exponentials of a distance
Precomputed, BlockKernel, PairKernel    given by a matrix or by a function of your own
k1 + k2, k1 * k2, 3.0 * k, k + 0.5      combinations
make_kernel                             kernels by scikit-learn's names
"""

from widemargin.kernels.algebra import Constant, Product, Scaled, Sum
from widemargin.kernels.exponential_distance import ChiSquared, Laplacian
from widemargin.kernels.gaussian import Gaussian
from widemargin.kernels.inner_product import Cosine, Linear, Polynomial, Sigmoid
from widemargin.kernels.kernel import Kernel, RepresentationMismatch, Samples
from widemargin.kernels.names import KERNEL_NAMES, make_kernel
from widemargin.kernels.precomputed import Precomputed
from widemargin.kernels.user_function import BlockKernel, PairKernel

__all__ = [
    "KERNEL_NAMES",
    "BlockKernel",
    "ChiSquared",
    "Constant",
    "Cosine",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "PairKernel",
    "Polynomial",
    "Precomputed",
    "Product",
    "RepresentationMismatch",
    "Samples",
    "Scaled",
    "Sigmoid",
    "Sum",
    "make_kernel",
]
