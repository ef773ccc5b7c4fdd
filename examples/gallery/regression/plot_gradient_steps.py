"""
Least mean squares, step by step
================================

Gradient steps in the dual: the curve starts at zero and picks up broad features first, detail later. Stopping early
smooths; many steps reach kernel ridge regression, which ``KernelRidge`` computes at once.

After the CS229 notes of Ng & Ma, part VI, and Straka's lecture on SMO.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from widemargin import KernelLMS, KernelRidge

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0.0, 6.0, 80))[:, None]
y = np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=80)
line = np.linspace(0.0, 6.0, 300)[:, None]

plt.scatter(X, y, s=9, color="#666666")
for passes, colour in zip((1, 3, 10, 100), ("#E69F00", "#56B4E9", "#009E73", "#0072B2"), strict=True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # stopping early is the point
        model = KernelLMS(gamma=1.0, noise_variance=0.1, max_iter=passes).fit(X, y)
    plt.plot(line, model.predict(line), color=colour, label=f"{passes} passes")
ridge = KernelRidge(alpha=0.1, kernel="rbf", gamma=1.0).fit(X, y)
plt.plot(line, ridge.predict(line), color="black", linestyle="dashed", label="kernel ridge: the limit")
plt.legend()
print(ridge.certificate_)
