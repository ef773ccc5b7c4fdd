"""
What C does
===========

C is the price of a point that is not beyond its margin. A small C buys a wide margin with many points inside; a large C
a narrow one that follows single points.

After scikit-learn's example "SVM margins".
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import SVC
from widemargin.plots import plot_boundary

rng = np.random.default_rng(0)
X = np.vstack([rng.normal(size=(20, 2)) - [0.8, 0.8], rng.normal(size=(20, 2)) + [0.8, 0.8]])
y = np.repeat([0, 1], 20)

figure, axes = plt.subplots(1, 2, figsize=(8.4, 4.2), layout="constrained")
for ax, C in zip(axes, (0.02, 10.0), strict=True):
    model = SVC(kernel="linear", C=C).fit(X, y)
    plot_boundary(model, X, y, ax=ax, legend=False)
    ax.set_title(f"C = {C:g}: {len(model.support_)} support vectors, {model.score(X, y):.0%} right")
    print(f"C = {C:g}: certificate {'holds' if model.certificate_.holds else 'does not hold'}")
