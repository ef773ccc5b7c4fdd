"""
Too smooth, too rough
=====================

Three values of gamma and three of C. Towards the lower right every point is an island and nothing is learnt; towards
the upper left the machine is nearly linear.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_circles

from widemargin import SVC
from widemargin.plots import plot_boundary

X, y = make_circles(120, noise=0.18, factor=0.45, random_state=1)
new_X, new_y = make_circles(4000, noise=0.18, factor=0.45, random_state=2)

figure, axes = plt.subplots(3, 3, figsize=(9.0, 9.0), layout="constrained")
for row, C in zip(axes, (0.1, 10.0, 1000.0), strict=True):
    for ax, gamma in zip(row, (0.05, 1.0, 50.0), strict=True):
        model = SVC(C=C, gamma=gamma).fit(X, y)
        assert model.certificate_.holds
        plot_boundary(model, X, y, ax=ax, legend=False, slack=False, rings=False)
        ax.set_title(f"C = {C:g}, gamma = {gamma:g}: {model.score(new_X, new_y):.0%}", loc="left")
        ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
