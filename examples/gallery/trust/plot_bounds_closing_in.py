"""
Two bounds closing in
=====================

Conjugate gradients on a kernel system give, after every step, a bound on how far any prediction can still be from the
exact one. The bound is above the true error at every step, and not by much.

After Cristianini & Shawe-Taylor, section 7.6 and table 7.3.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from widemargin import KernelRidge

rng = np.random.default_rng(0)
X = rng.normal(size=(800, 6))
y = np.sin(X[:, 0] + X[:, 1]) + 0.2 * rng.normal(size=800)
settings = {"alpha": 0.04, "kernel": "rbf", "gamma": 0.2}
exact = KernelRidge(solver="cholesky", **settings).fit(X, y)
size = np.sqrt(np.mean(y**2))
steps, bounds, errors = [1, 2, 4, 6, 8, 12, 16, 24, 32], [], []
for each in steps:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # stopping early is the point
        model = KernelRidge(solver="cg", max_iter=each, tol=1e-12, **settings).fit(X, y)
    bounds.append(model.certificate_.error)
    errors.append(np.abs(model.predict(X) - exact.predict(X)).max() / size)
plt.semilogy(steps, bounds, marker="o", label="proven bound")
plt.semilogy(steps, errors, marker="s", label="true error")
plt.xlabel("steps of conjugate gradients")
plt.ylabel("error of a prediction")
plt.legend()

# %%
print(exact.certificate_)
