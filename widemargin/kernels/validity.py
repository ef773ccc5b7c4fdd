"""Is it a kernel? A function k is one exactly if every matrix K_ij = k(x_i, x_j) is symmetric and z'Kz >= 0 for all z.

A test on a sample can refute that, never prove it: a failure comes with its proof, two samples with k(x, z) != k(z, x),
or a vector z with z'Kz < 0. Kernel values carry rounding errors, and eigenvalues of large matrices of smooth kernels
are zero up to these, so a negative number counts only where errors cannot explain it:

    |error of z'Kz|         <=  d |z|_1^2 + 2 n u |z|'|K||z|      d: error of a kernel value, u: unit roundoff
    |error of an eigenvalue| <= n d + 2 n u |K|                   Weyl's inequality, and the backward error of LAPACK

See  Mercer's theorem as in Ng & Ma, CS229 notes, part V; Cristianini & Shawe-Taylor (2000), section 3.3; Higham (2002),
     Accuracy and Stability of Numerical Algorithms, sections 3.1 and 3.3, for the bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from widemargin._sklearn import num_samples, safe_indexing
from widemargin.kernels.kernel import Kernel
from widemargin.kernels.names import make_kernel
from widemargin.kernels.precomputed import Precomputed
from widemargin.linalg.arrays import Vector

UNIT = float(np.finfo(np.float64).eps)
OWN_ERROR = 16 * float(np.finfo(np.float64).eps)  # of a kernel value, relative to the largest: some operations


@dataclass(frozen=True, eq=False)
class KernelCheck:
    """Result of a test of a kernel on a sample; true if no counterexample was found.

    Attributes
    ----------
    index : int array of shape (n,)
        Indices in X of the samples tested.
    finite : bool
        Whether all kernel values are finite numbers.
    asymmetry : float
        Largest |k(x, z) - k(z, x)|.
    asymmetric_pair : pair of int or None
        Indices in X of two samples that prove the asymmetry, if errors cannot explain the difference.
    smallest_eigenvalue, largest_eigenvalue : float
        Of the symmetric part of the kernel matrix; nan if values are not finite.
    error : float
        Bound on the error of the smallest eigenvalue.
    witness : float64 array of shape (n,) or None
        A vector z of length 1, over the samples of `index`, with z'Kz < 0 beyond all errors.
    witness_value : float
        z'Kz, or nan without a witness.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import check_kernel
    >>> found = check_kernel(lambda A, B: -(A @ B.T), np.array([[1.0], [2.0]]))
    >>> found.symmetric, found.positive_semi_definite, bool(found)
    (True, False, False)
    """

    index: NDArray[np.int64]
    finite: bool
    asymmetry: float
    asymmetric_pair: tuple[int, int] | None
    smallest_eigenvalue: float
    largest_eigenvalue: float
    error: float
    witness: Vector | None
    witness_value: float

    @property
    def symmetric(self) -> bool:
        """Whether no pair of samples proves the contrary."""
        return self.finite and self.asymmetric_pair is None

    @property
    def positive_semi_definite(self) -> bool:
        """Whether no vector proves the contrary."""
        return self.finite and self.witness is None

    def __bool__(self) -> bool:
        return self.symmetric and self.positive_semi_definite

    def __str__(self) -> str:
        n = len(self.index)
        if not self.finite:
            return (
                f"No kernel on these {n} samples: some values are not finite numbers. Usual causes: features so large "
                "that products overflow, or a function that divides by zero."
            )
        lines = [
            f"Nothing on these {n} samples speaks against it: symmetric and positive semi-definite up to rounding."
            if self
            else f"Not a kernel on these {n} samples."
        ]
        if self.asymmetric_pair is not None:
            i, j = self.asymmetric_pair
            lines.append(f"  not symmetric: k(x_{i}, x_{j}) and k(x_{j}, x_{i}) differ by {self.asymmetry:.3g}")
        lines.append(f"  smallest eigenvalue {self.smallest_eigenvalue:.3g} (error at most {self.error:.1g})")
        lines.append(f"  largest eigenvalue  {self.largest_eigenvalue:.3g}")
        if self.witness is not None:
            first = np.argsort(-np.abs(self.witness))[:3]
            parts = ", ".join(f"{self.witness[t]:.3g} on x_{self.index[t]}" for t in first)
            lines.append(f"  witness: z'Kz = {self.witness_value:.3g} < 0 for z of length 1, largest entries {parts}")
            lines.append("  Machines on it end, but what they find need not be the best: see docs/your-own-kernel.md.")
        return "\n".join(lines)


def check_kernel(
    kernel: str | Kernel | Callable[[Any, Any], Any],
    X: Any,
    *,
    n_samples: int = 500,
    gamma: float = 1.0,
    degree: int = 3,
    coef0: float = 0.0,
    random_state: Any = 0,
) -> KernelCheck:
    """Search for a proof that a function is not a kernel: asymmetry, or a vector z with z'Kz < 0.

    Parameters
    ----------
    kernel : str, Kernel or callable
        As in `SVC`: a name, a kernel, or a function of two sets of samples.
    X : samples of any kind the kernel takes; the square matrix itself for "precomputed"
    n_samples : int, default 500
        Samples drawn from X for the test, which costs n_samples^2 kernel values and n_samples^3 operations.
    gamma, degree, coef0 : numbers
        Parameters of kernels given by name.
    random_state : int, RandomState instance or None, default 0
        Which samples are drawn.

    Returns
    -------
    check : KernelCheck
        True in an `if` when no counterexample was found; `print` explains.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import check_kernel
    >>> from widemargin.kernels import Gaussian, Sigmoid
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> bool(check_kernel(Gaussian(gamma=0.5), X))
    True
    >>> found = check_kernel(Sigmoid(gamma=1.0, coef0=-1.0), X)
    >>> print(found)
    Not a kernel on these 3 samples.
      smallest eigenvalue -1.27 (error at most ...)
      largest eigenvalue  1.83
      witness: z'Kz = -1.27 < 0 for z of length 1, largest entries ...
    """
    made = make_kernel(kernel, gamma=gamma, degree=degree, coef0=coef0)
    n = num_samples(X)
    if n == 0 or n_samples < 1:
        raise ValueError("check_kernel needs at least one sample: pass some data and n_samples >= 1.")
    index = np.arange(n)
    if n > n_samples:
        index = np.sort(check_random_state(random_state).choice(n, n_samples, replace=False))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        K, entry_error = _matrix(made, X, index)
        return _judge(K, entry_error, index)


def _matrix(kernel: Kernel, X: Any, index: NDArray) -> tuple[NDArray, float]:
    """Kernel values of the samples in float64, both halves evaluated, and a bound on their error as far as known."""
    if isinstance(kernel, Precomputed):
        K = np.asarray(X, np.float64)
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            raise ValueError(f"A precomputed kernel is a square matrix; got shape {K.shape}.")
        return K[np.ix_(index, index)], 0.0
    samples = kernel.prepare(safe_indexing(X, index), np.float64)
    K = kernel.block(samples, samples, np.empty((len(index), len(index))))
    rounding = kernel.rounding(samples)
    return K, rounding if np.isfinite(rounding) else 0.0


def _judge(K: NDArray, entry_error: float, index: NDArray) -> KernelCheck:
    """Symmetry and definiteness of a matrix with errors."""
    n = len(K)
    if not np.isfinite(K).all():
        return KernelCheck(index, False, np.nan, None, np.nan, np.nan, np.nan, None, np.nan)
    entry_error += OWN_ERROR * float(np.abs(K).max())
    difference = np.abs(K - K.T)
    i, j = np.unravel_index(difference.argmax(), difference.shape)
    asymmetry = float(difference[i, j])
    pair = (int(index[i]), int(index[j])) if asymmetry > 2 * entry_error else None
    half = K / 2 + K.T / 2
    values, vectors = np.linalg.eigh(half)
    size = float(np.abs(values).max())
    error = n * entry_error + 2 * n * UNIT * size
    z = vectors[:, 0]
    value = float(z @ half @ z)
    value_error = entry_error * float(np.abs(z).sum()) ** 2 + 2 * n * UNIT * float(np.abs(z) @ np.abs(half) @ np.abs(z))
    proven = value < -value_error
    return KernelCheck(
        index,
        True,
        asymmetry,
        pair,
        float(values[0]),
        float(values[-1]),
        error,
        z if proven else None,
        value if proven else np.nan,
    )
