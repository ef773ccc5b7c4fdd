"""
The outline of one class
========================

A one-class SVM learns where most of the data are, without labels. nu is at most the share of training samples left
outside.

After scikit-learn's example "One-class SVM with non-linear kernel (RBF)".
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import OneClassSVM
from widemargin.plots import plot_boundary

rng = np.random.default_rng(0)
X = np.vstack([0.3 * rng.normal(size=(100, 2)) + 2, 0.3 * rng.normal(size=(100, 2)) - 2])
figure, axes = plt.subplots(1, 2, figsize=(8.6, 4.2), layout="constrained")
for ax, nu in zip(axes, (0.05, 0.3), strict=True):
    model = OneClassSVM(nu=nu, gamma=0.3).fit(X)
    plot_boundary(model, X, ax=ax, legend=False, slack=False)
    ax.set_title(f"nu = {nu}: {np.mean(model.predict(X) < 0):.0%} outside, {len(model.support_)} support vectors")
print(model.certificate_)
