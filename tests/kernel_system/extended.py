"""Kernel systems in extended precision, from the formulas alone: nothing of the library takes part."""

import numpy as np

EXTENDED = np.longdouble
IS_EXTENDED = np.finfo(EXTENDED).eps < 1e-18  # else long double is double, and proves nothing


def kernel_matrix(name, X, Z, gamma, degree=3, coef0=1.0):
    """k(X_i, Z_j) by its definition."""
    X, Z, gamma = X.astype(EXTENDED), Z.astype(EXTENDED), EXTENDED(gamma)
    apart = X[:, None, :] - Z[None, :, :]
    if name == "rbf":
        return np.exp(-gamma * (apart**2).sum(axis=2))
    if name == "laplacian":
        return np.exp(-gamma * np.abs(apart).sum(axis=2))
    products = (X[:, None, :] * Z[None, :, :]).sum(axis=2)
    if name == "linear":
        return products
    base = gamma * products + EXTENDED(coef0)
    return np.tanh(base) if name == "sigmoid" else base**degree


def cholesky(A):
    """Lower factor in extended precision; None where there is none."""
    A, n = A.copy(), len(A)
    for j in range(n):
        if not A[j, j] > 0:
            return None
        A[j:, j] /= np.sqrt(A[j, j])
        A[j + 1 :, j + 1 :] -= np.outer(A[j + 1 :, j], A[j + 1 :, j])
    return np.tril(A)


def solve(L, right):
    """(L L')^-1 right."""
    x, n = right.astype(EXTENDED).copy(), len(L)
    for j in range(n):
        x[j] = (x[j] - L[j, :j] @ x[:j]) / L[j, j]
    for j in range(n - 1, -1, -1):
        x[j] = (x[j] - L[j + 1 :, j] @ x[j + 1 :]) / L[j, j]
    return x


def solution(A, right):
    """A^-1 right with one step of refinement; None where A has no factor."""
    L = cholesky(A)
    if L is None:
        return None
    x = solve(L, right)
    return x + solve(L, right - A @ x)


def uncertainty(A, noise, right, x):
    """Bound on sqrt((x - x*)'A (x - x*)) of a solution in extended precision, from its residual and the noise."""
    rounding = 2 * len(A) * np.finfo(EXTENDED).eps * (np.abs(A) @ np.abs(x) + np.abs(right))
    return np.sqrt((((np.abs(right - A @ x) + rounding) ** 2) / noise).sum())
