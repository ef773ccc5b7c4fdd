"""
Samples that count more
=======================

A weight multiplies the C of one sample: twice the weight is the sample twice, weight zero is the sample left out. Ten
points among those of the other class get fifteen times their weight, and the boundary gives way.

After scikit-learn's example "SVM: Weighted samples".
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import SVC
from widemargin.plots import plot_boundary

rng = np.random.default_rng(3)
X = np.vstack([rng.normal(size=(20, 2)) + [1.0, 1.0], rng.normal(size=(20, 2))])
y = np.repeat([1, 0], 20)
heavy = np.argsort(X[:, 0] - 3.0 * y)[-10:]  # points of class 0 that lie farthest to the right
weight = np.ones(40)
weight[heavy] = 15.0

figure, axes = plt.subplots(1, 2, figsize=(8.4, 4.2), layout="constrained")
for ax, each, title in zip(axes, (None, weight), ("all alike", "ten points count 15 times"), strict=True):
    model = SVC(gamma=0.5).fit(X, y, sample_weight=each)
    plot_boundary(model, X, y, ax=ax, legend=False, slack=False, rings=False)
    if each is not None:
        ax.scatter(*X[heavy].T, s=160, facecolors="none", edgecolors="black")
    ax.set_title(title, loc="left")
    print(f"{title}: {model.score(X[heavy], y[heavy]):.0%} of the ten right, holds {model.certificate_.holds}")
