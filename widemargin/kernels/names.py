"""Kernels by name: scikit-learn's names, and those of the string kernels."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from widemargin.kernels.exponential_distance import ChiSquared, Laplacian
from widemargin.kernels.gaussian import Gaussian
from widemargin.kernels.inner_product import Cosine, Linear, Polynomial, Sigmoid
from widemargin.kernels.kernel import Kernel
from widemargin.kernels.precomputed import Precomputed
from widemargin.kernels.user_function import BlockKernel

_BY_NAME: dict[str, type] = {
    "linear": Linear,
    "poly": Polynomial,
    "rbf": Gaussian,
    "sigmoid": Sigmoid,
    "laplacian": Laplacian,
    "chi2": ChiSquared,
    "cosine": Cosine,
    "precomputed": Precomputed,
}

STRING_KERNELS = {  # accepted by `make_kernel` only, since they have their own parameters
    "spectrum": "Spectrum",
    "blended_spectrum": "BlendedSpectrum",
    "mismatch": "Mismatch",
    "gapped_kmer": "GappedKmer",
    "subsequence": "Subsequence",
}

#: Names of kernels on vectors, which estimators take as well.
KERNEL_NAMES = tuple(_BY_NAME)


def make_kernel(
    kernel: str | Kernel | Callable[[Any, Any], Any],
    gamma: float = 1.0,
    degree: int = 3,
    coef0: float = 0.0,
    **options: Any,
) -> Kernel:
    """Return a kernel for a name, a function or a kernel.

    Parameters
    ----------
    kernel : str, Kernel or callable
        One of "linear", "poly", "rbf", "sigmoid", "laplacian", "chi2", "cosine", "precomputed"; a callable(A, B) that
        returns the matrix of kernel values, as in scikit-learn; or a Kernel, which is returned as it is. On strings:
        one of "spectrum", "blended_spectrum", "mismatch", "gapped_kmer", "subsequence".
    gamma, degree, coef0 : numbers
        Parameters of the named kernels on vectors that have them.
    **options
        Parameters of a kernel on strings, such as k.

    Returns
    -------
    kernel : Kernel

    Examples
    --------
    >>> from widemargin.kernels import make_kernel
    >>> make_kernel("poly", gamma=0.5, degree=2)
    Polynomial(degree=2, gamma=0.5, coef0=0.0)
    >>> make_kernel("mismatch", k=5)
    Mismatch(k=5, m=1, alphabet='dna', reverse_complement=False, normalize=False)
    """
    if isinstance(kernel, str) and kernel in STRING_KERNELS:
        return _make_string_kernel(kernel, options)
    if options:
        raise TypeError(f"{', '.join(options)} belong to kernels on strings ({', '.join(STRING_KERNELS)}) only.")
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        if kernel not in _BY_NAME:
            raise ValueError(
                f"No kernel is called {kernel!r}: choose one of {', '.join([*KERNEL_NAMES, *STRING_KERNELS])}, or "
                "pass a function."
            )
        given = {"gamma": gamma, "degree": degree, "coef0": coef0}
        kind = _BY_NAME[kernel]
        return kind(**{field.name: given[field.name] for field in fields(kind)})
    if callable(kernel):
        return BlockKernel(kernel)
    raise TypeError(f"A kernel is a name, a Kernel or a function of two sets of samples; got {type(kernel).__name__}.")


def is_precomputed(kernel: Any) -> bool:
    """Whether X is the kernel matrix itself."""
    return kernel == "precomputed" if isinstance(kernel, str) else isinstance(kernel, Precomputed)


def takes_objects(kernel: Any) -> bool:
    """Whether samples may be any objects, because the kernel is a string kernel or a user's function."""
    if isinstance(kernel, str):
        return False
    return kernel.accepts_objects if isinstance(kernel, Kernel) else True


def _make_string_kernel(name: str, options: dict[str, Any]) -> Kernel:
    """Return a kernel on strings; raise an error for options that it does not have."""
    kind = getattr(importlib.import_module("widemargin.kernels.strings"), STRING_KERNELS[name])
    known = [field.name for field in fields(kind)]
    unknown = [option for option in options if option not in known]
    if unknown:
        raise TypeError(f"The {name} kernel has no parameter {', '.join(unknown)}; it has {', '.join(known)}.")
    return kind(**options)
