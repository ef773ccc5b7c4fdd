"""Transitional: the kernels named by strings, until `widemargin.kernels` offers `make_kernel` itself."""

from __future__ import annotations

from typing import Any

from widemargin.kernels import Gaussian, Kernel, Linear, Polynomial

try:
    from widemargin.kernels import BlockKernel, Precomputed, make_kernel
except ImportError:

    class Precomputed:  # type: ignore[no-redef]
        """Not there yet."""

    class BlockKernel:  # type: ignore[no-redef]
        """Not there yet."""

    def make_kernel(kernel: Any, gamma: float = 1.0, degree: int = 3, coef0: float = 0.0) -> Kernel:  # type: ignore[misc]
        """The kernels that exist already."""
        if isinstance(kernel, Kernel):
            return kernel
        if kernel == "linear":
            return Linear()
        return Polynomial(degree, gamma, coef0) if kernel == "poly" else Gaussian(gamma)


__all__ = ["BlockKernel", "Precomputed", "make_kernel"]
