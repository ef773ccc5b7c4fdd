"""Two numbers closing in: conjugate gradients on a Gaussian process, stopped when you have seen enough.

Prints, step by step, the lower and the upper bound on y'(K + s I)^-1 y, and what the gap means: how far any prediction
can still be from the exact one. At the end the true distance is shown beside the bound.

    python examples/bounds_closing_in.py

See  Cristianini & Shawe-Taylor (2000), section 7.6 and Table 7.3; Gibbs & MacKay (1997) for the idea of the bounds.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from widemargin import KernelRidge


def main(n: int = 2000, most_steps: int = 32) -> list[tuple[int, float, float]]:
    """Returns (steps, bound on the error, true error) for growing numbers of steps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6))
    y = np.sin(X[:, 0] + X[:, 1]) + 0.2 * rng.normal(size=n)
    settings = {"alpha": 0.04, "kernel": "rbf", "gamma": 0.2}
    exact = KernelRidge(solver="cholesky", **settings).fit(X, y).predict(X)
    size = float(np.sqrt(np.mean(y**2)))
    rows = []
    print("steps        lower <= y'(K + s I)^-1 y <= upper       error <=     true error")
    steps = 1
    while steps <= most_steps:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # stopping early is the point
            model = KernelRidge(solver="cg", max_iter=steps, tol=1e-12, **settings).fit(X, y)
        found = model.certificate_
        true = float(np.abs(model.predict(X) - exact).max()) / size
        rows.append((steps, found.error, true))
        print(
            f"{steps:5d}   {found.lower[0]:14.8f}         {found.upper[0]:18.8f}   {found.error:10.1e}   {true:10.1e}"
        )
        steps *= 2
    return rows


if __name__ == "__main__":
    main()
