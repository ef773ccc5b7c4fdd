"""
Three regressions, one tube
===========================

Support vector regression charges nothing for errors below epsilon: a tube around the curve. Only samples on its edge or
outside carry the function. Linear, polynomial and Gaussian kernels give a line, a polynomial and something smooth.

After scikit-learn's example "Support Vector Regression (SVR) using linear and non-linear kernels".
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import SVR
from widemargin.plots import plot_tube

rng = np.random.default_rng(0)
X = np.sort(5.0 * rng.random((60, 1)), axis=0)
y = np.sin(X[:, 0]) + 0.15 * rng.normal(size=60)

models = {
    "linear": SVR(kernel="linear", C=10, epsilon=0.2),
    "polynomial": SVR(kernel="poly", degree=3, gamma=0.2, coef0=1.0, C=10, epsilon=0.2),
    "Gaussian": SVR(gamma=0.5, C=10, epsilon=0.2),
}
figure, axes = plt.subplots(1, 3, figsize=(9.8, 3.8), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    plot_tube(model.fit(X, y), X, y, ax=ax, legend=False)
    ax.set_title(f"{name}: {len(model.support_)} of 60 count")
print(model.certificate_)
