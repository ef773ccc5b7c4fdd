"""
Exclusive or, and classes that overlap
======================================

Four clouds, opposite corners of one class: no line separates them, a Gaussian kernel does. As the clouds grow into each
other, the hard margin (above) still gets every training point right, by following single points; a machine with slack
(below) gives some up and does better on new ones.

After Marsland, Machine Learning: An Algorithmic Perspective, figure 8.8.
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import SVC
from widemargin.plots import plot_boundary


def clouds(spread, seed, n=100):
    rng = np.random.default_rng(seed)
    corners = np.tile([(0.0, 0.0), (1.0, 1.0), (0.0, 1.0), (1.0, 0.0)], (n // 4, 1))
    return corners + spread * rng.normal(size=(n, 2)), np.tile([0, 0, 1, 1], n // 4)


figure, axes = plt.subplots(2, 3, figsize=(9.6, 6.6), layout="constrained")
for column, spread in enumerate((0.1, 0.3, 0.4)):
    X, y = clouds(spread, seed=column)
    new_X, new_y = clouds(spread, seed=50, n=2000)
    for row, C in enumerate((np.inf, 0.3)):
        model = SVC(C=C, gamma=4.0).fit(X, y)
        plot_boundary(model, X, y, ax=axes[row, column], legend=False, slack=False, rings=False)
        axes[row, column].set_title(f"C = {C:g}: {model.score(new_X, new_y):.0%} of new points right", loc="left")
        axes[row, column].set(xlabel="", ylabel="", xticks=[], yticks=[])
        print(f"spread {spread}, C = {C:g}: holds {model.certificate_.holds}, {len(model.support_)} support vectors")
