"""Direct differences: distances summed feature by feature, with nothing to cancel.

    squared    sum (x_k - z_k)^2           |x - z|_1  sum |x_k - z_k|
    chi        sum (x_k - z_k)^2 / (x_k + z_k), a term with both values zero counting 0

The inner loop runs along samples that lie side by side (see `DenseColumns`), four features to a pass, so that a partial sum
is loaded and stored once per four features.
"""

from __future__ import annotations

from widemargin._jit import CONTRACT, jit
from widemargin.kernels.exponential import exp_scaled


@jit(fastmath=CONTRACT)
def _add_squares(x, i, z, first, row):
    """row += sum over features of (x_k - z_k)^2."""
    d, n = len(x), len(row)
    k = 0
    while k + 4 <= d:
        x0, x1, x2, x3 = x[k, i], x[k + 1, i], x[k + 2, i], x[k + 3, i]
        z0, z1 = z[k, first : first + n], z[k + 1, first : first + n]
        z2, z3 = z[k + 2, first : first + n], z[k + 3, first : first + n]
        for j in range(n):
            d0, d1, d2, d3 = x0 - z0[j], x1 - z1[j], x2 - z2[j], x3 - z3[j]
            row[j] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)
        k += 4
    while k < d:
        xk, zk = x[k, i], z[k, first : first + n]
        for j in range(n):
            dk = xk - zk[j]
            row[j] += dk * dk
        k += 1


@jit(fastmath=CONTRACT)
def gaussian_block(x, left_start, n_left, z, right_start, n_right, gamma, flat, step):
    """exp(-gamma |x - z|^2) for samples given by columns."""
    for i in range(n_left):
        row = flat[i * step : i * step + n_right]
        row[:] = gamma - gamma
        _add_squares(x, left_start + i, z, right_start, row)
        exp_scaled(row, gamma)
