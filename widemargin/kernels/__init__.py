"""Kernels: what "similar" means, and the only place that knows dense from sparse from bit-packed data."""

from widemargin.kernels.gaussian import Gaussian
from widemargin.kernels.inner_product import Linear, Polynomial
from widemargin.kernels.kernel import Kernel, RepresentationMismatch, Samples

__all__ = ["Gaussian", "Kernel", "Linear", "Polynomial", "RepresentationMismatch", "Samples"]
