"""Kernels by scikit-learn's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from widemargin.kernels.exponential_distance import ChiSquared, Laplacian
from widemargin.kernels.gaussian import Gaussian
from widemargin.kernels.inner_product import Cosine, Linear, Polynomial, Sigmoid
from widemargin.kernels.kernel import Kernel
from widemargin.kernels.precomputed import Precomputed
from widemargin.kernels.user_function import BlockKernel

_BY_NAME: dict[str, Callable[[float, int, float], Kernel]] = {
    "linear": lambda gamma, degree, coef0: Linear(),
    "poly": lambda gamma, degree, coef0: Polynomial(degree, gamma, coef0),
    "rbf": lambda gamma, degree, coef0: Gaussian(gamma),
    "sigmoid": lambda gamma, degree, coef0: Sigmoid(gamma, coef0),
    "laplacian": lambda gamma, degree, coef0: Laplacian(gamma),
    "chi2": lambda gamma, degree, coef0: ChiSquared(gamma),
    "cosine": lambda gamma, degree, coef0: Cosine(),
    "precomputed": lambda gamma, degree, coef0: Precomputed(),
}

#: Names that `make_kernel` understands.
KERNEL_NAMES = tuple(_BY_NAME)


def make_kernel(
    kernel: str | Kernel | Callable[[Any, Any], Any], gamma: float = 1.0, degree: int = 3, coef0: float = 0.0
) -> Kernel:
    """A kernel from a name, a function or a kernel.

    Parameters
    ----------
    kernel : str, Kernel or callable
        One of "linear", "poly", "rbf", "sigmoid", "laplacian", "chi2", "cosine", "precomputed"; a callable(A, B) that
        returns the matrix of kernel values, as in scikit-learn; or a Kernel, which is returned as it is.
    gamma, degree, coef0 : numbers
        Parameters of the named kernels that have them.

    Returns
    -------
    kernel : Kernel

    Examples
    --------
    >>> from widemargin.kernels import make_kernel
    >>> make_kernel("poly", gamma=0.5, degree=2)
    Polynomial(degree=2, gamma=0.5, coef0=0.0)
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        if kernel not in _BY_NAME:
            raise ValueError(
                f"No kernel is called {kernel!r}: choose one of {', '.join(KERNEL_NAMES)}, or pass a function."
            )
        return _BY_NAME[kernel](gamma, degree, coef0)
    if callable(kernel):
        return BlockKernel(kernel)
    raise TypeError(f"A kernel is a name, a Kernel or a function of two sets of samples; got {type(kernel).__name__}.")
