"""
LinearSVC beside SVC(kernel="linear")
=====================================

``LinearSVC`` penalises the bias and squares the slack by default, so it is another problem with another answer. With
``loss="hinge"`` and ``penalize_intercept=False`` it is the same problem as ``SVC(kernel="linear")``, and both
certificates say how far each answer can be from the common optimum.

After scikit-learn's example "Plot the support vectors in LinearSVC".
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from widemargin import SVC, LinearSVC
from widemargin.plots import plot_boundary

X, y = make_blobs(n_samples=60, centers=2, cluster_std=2.2, random_state=0)
models = {
    "LinearSVC()": LinearSVC(tol=1e-6),
    'LinearSVC(loss="hinge", penalize_intercept=False)': LinearSVC(
        loss="hinge", penalize_intercept=False, tol=1e-6, max_iter=100_000
    ),
    'SVC(kernel="linear")': SVC(kernel="linear", tol=1e-6),
}
figure, axes = plt.subplots(1, 3, figsize=(9.6, 3.9), layout="constrained")
for ax, (title, model) in zip(axes, models.items(), strict=True):
    model.fit(X, y)
    plot_boundary(model, X, y, ax=ax, legend=False, slack=False)
    ax.set_title(title.replace(", ", ",\n"), fontsize=8.5)
    ax.set(xlabel="", ylabel="")
    w, b, gap = np.ravel(model.coef_), np.ravel(model.intercept_)[0], model.certificate_.gap
    print(f"w {np.round(w, 4)}   b {b:.4f}   gap {gap:.0e}   {title}")
