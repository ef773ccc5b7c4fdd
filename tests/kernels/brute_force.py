"""Kernel values straight from the formulas, pair by pair in extended precision: nothing shared with the package."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from widemargin.kernels import ChiSquared, Cosine, Gaussian, Kernel, Laplacian, Linear, Polynomial, Sigmoid

LONG = np.longdouble


def dense(X):
    """Any input as an array of long doubles."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X).astype(LONG)


def linear(x, z, kernel):
    return np.sum(x * z)


def polynomial(x, z, kernel):
    base = LONG(kernel.gamma) * np.sum(x * z) + LONG(kernel.coef0)
    return base**kernel.degree


def sigmoid(x, z, kernel):
    return np.tanh(LONG(kernel.gamma) * np.sum(x * z) + LONG(kernel.coef0))


def cosine(x, z, kernel):
    lengths = np.sqrt(np.sum(x * x)) * np.sqrt(np.sum(z * z))
    return np.sum(x * z) / lengths if lengths > 0 else LONG(0)


def gaussian(x, z, kernel):
    return np.exp(-LONG(kernel.gamma) * np.sum((x - z) ** 2))


def laplacian(x, z, kernel):
    return np.exp(-LONG(kernel.gamma) * np.sum(np.abs(x - z)))


def chi_squared(x, z, kernel):
    some = x + z > 0
    return np.exp(-LONG(kernel.gamma) * np.sum((x - z)[some] ** 2 / (x + z)[some]))


FORMULAS = {
    Linear: linear,
    Polynomial: polynomial,
    Sigmoid: sigmoid,
    Cosine: cosine,
    Gaussian: gaussian,
    Laplacian: laplacian,
    ChiSquared: chi_squared,
}

#: One or more settings of every kernel on vectors; all are valid on non-negative data.
KERNELS = [
    Linear(),
    Polynomial(degree=0, gamma=0.5, coef0=1.0),
    Polynomial(degree=1, gamma=0.5, coef0=-1.0),
    Polynomial(degree=2, gamma=0.3, coef0=0.5),
    Polynomial(degree=3, gamma=0.2, coef0=0.0),
    Polynomial(degree=5, gamma=0.2, coef0=1.0),
    Sigmoid(gamma=0.1, coef0=-0.5),
    Cosine(),
    Gaussian(gamma=0.4),
    Gaussian(gamma=0.0),
    Laplacian(gamma=0.3),
    ChiSquared(gamma=0.3),
]


def exact(kernel: Kernel, X, Z=None):
    """The matrix of kernel values, in extended precision."""
    left = dense(X)
    right = left if Z is None else dense(Z)
    formula = FORMULAS[type(kernel)]
    return np.array([[formula(x, z, kernel) for z in right] for x in left], LONG).reshape(len(left), len(right))


def error(values, kernel: Kernel, X, Z=None) -> float:
    """Largest absolute error of a matrix of kernel values."""
    return float(np.max(np.abs(values - exact(kernel, X, Z)), initial=0.0))
