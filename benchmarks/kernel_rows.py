"""Nanoseconds per kernel entry of every path: 256 rows against n columns, in tiles of 256 x 1024 as the solvers ask.

    python -m benchmarks.kernel_rows [n]

Beside it the plain NumPy way: a matrix product, |x|^2 + |z|^2 - 2 x'z, and np.exp. One thread, CPU time of that
thread (so that a busy machine disturbs less), best of several runs, compilation excluded.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy import sparse

from benchmarks.timing import fastest
from widemargin.kernels import ChiSquared, Cosine, Gaussian, Kernel, Laplacian, Linear, Polynomial, Sigmoid
from widemargin.parallel.tiles import single_threaded_blas

ROWS, TILE = 256, 1024
REPEATS = 7


def kernel_ns(kernel: Kernel, X, dtype) -> tuple[float, str]:
    """Nanoseconds per entry of `kernel.block`, and the representation that was chosen."""
    n = X.shape[0]
    samples = kernel.prepare(X, dtype)
    left = samples.take(np.random.default_rng(1).permutation(n)[:ROWS])
    out = np.empty((ROWS, TILE), dtype)

    def rows() -> None:
        for start in range(0, n, TILE):
            stop = min(n, start + TILE)
            kernel.block(left, samples.tile(start, stop), out[:, : stop - start])

    return fastest(rows, REPEATS) / (ROWS * n) * 1e9, type(samples).__name__


def plain_ns(X, dtype) -> float:
    """Nanoseconds per entry of a Gaussian kernel written in NumPy, tile by tile."""
    X = (X.toarray() if sparse.issparse(X) else X).astype(dtype)
    n = len(X)
    left = X[:ROWS].copy()
    squares = (X * X).sum(axis=1)

    def rows() -> None:
        for start in range(0, n, TILE):
            distance = left @ X[start : start + TILE].T
            distance *= -2
            distance += squares[:ROWS, None]
            distance += squares[None, start : start + TILE]
            np.exp(-distance, out=distance)

    return fastest(rows, REPEATS) / (ROWS * n) * 1e9


def text_like(n: int, d: int, per_row: int) -> sparse.csr_array:
    """Rows with word frequencies falling as 1 / rank, as in text."""
    rng = np.random.default_rng(0)
    share = 1 / np.arange(1, d + 1)
    words = rng.choice(d, size=(n, per_row), p=share / share.sum())
    rows = np.repeat(np.arange(n), per_row)
    return sparse.csr_array((rng.random(n * per_row) + 0.1, (rows, words.ravel())), shape=(n, d))


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 8192
    rng = np.random.default_rng(0)
    tables = {f"dense d={d}": rng.standard_normal((n, d)) for d in (2, 8, 16, 22, 54, 123, 300)}
    tables |= {f"0/1 d={d}": (rng.random((n, d)) < 0.1) * 1.0 for d in (60, 123, 300)}
    text = text_like(n, 8000, 60)
    heads = [f"{head:>10}" for head in ("float32", "float64", "NumPy 32", "NumPy 64")]
    print(f"{'kernel':<12}{'data':<16}{'representation':<14}", *heads, sep="")
    with single_threaded_blas():
        jobs: list[tuple[Kernel, str, object]] = [(Gaussian(0.1), name, X) for name, X in tables.items()]
        jobs.append((Gaussian(0.1), "text d=8000", text))
        jobs += [(kernel, "dense d=54", tables["dense d=54"]) for kernel in (Linear(), Polynomial(3, 0.1, 1.0))]
        jobs += [(kernel, "dense d=54", tables["dense d=54"]) for kernel in (Sigmoid(0.1), Cosine(), Laplacian(0.1))]
        jobs += [(ChiSquared(0.1), "dense d=54", np.abs(tables["dense d=54"]))]
        jobs += [(kernel, "0/1 d=123", tables["0/1 d=123"]) for kernel in (Linear(), Polynomial(3, 0.1, 1.0), Cosine())]
        jobs += [(kernel, "text d=8000", text) for kernel in (Linear(), Laplacian(0.1), ChiSquared(0.1))]
        for kernel, name, X in jobs:
            single, chosen = kernel_ns(kernel, X, np.float32)
            double, _ = kernel_ns(kernel, X, np.float64)
            plain = ""
            if isinstance(kernel, Gaussian) and "text" not in name:
                plain = "".join(f"{plain_ns(X, dtype):10.2f}" for dtype in (np.float32, np.float64))
            print(f"{type(kernel).__name__:<12}{name:<16}{chosen:<14}{single:10.2f}{double:10.2f}{plain}", flush=True)


if __name__ == "__main__":
    main()
