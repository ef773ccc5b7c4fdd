"""
The conditions of the optimum, as a picture
===========================================

At the optimum a sample beyond its margin has multiplier 0, one inside has C, and those in between lie on the margin:
all points on a line with two corners. A loose tolerance leaves points beside it, by no more than ``tol``.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from widemargin import SVC
from widemargin.plots import plot_kkt

X, y = make_moons(120, noise=0.22, random_state=3)
figure, axes = plt.subplots(1, 2, figsize=(9.2, 4.2), layout="constrained")
for ax, tol in zip(axes, (0.5, 1e-3), strict=True):
    model = SVC(C=4, gamma=1.0, tol=tol, solver="platt").fit(X, y)
    plot_kkt(model, X, y, ax=ax, legend=False)
    ax.set_title(f"tol = {tol:g}: largest violation {model.certificate_.violation:.1e}", loc="left")
