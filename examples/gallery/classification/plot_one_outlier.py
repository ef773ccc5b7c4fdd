"""
One outlier
===========

A hard margin has to get every point right, so a single one can turn it round. With a finite C the machine pays for that
point and keeps its margin.

After the CS229 notes of Ng & Ma, part V, section 8.
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import SVC, margins
from widemargin.plots import plot_boundary

rng = np.random.default_rng(1)
X = np.vstack([0.5 * rng.normal(size=(15, 2)) + [-1.5, 1.2], 0.5 * rng.normal(size=(15, 2)) + [1.5, -1.2]])
y = np.repeat([0, 1], 15)
X_out, y_out = np.vstack([X, [[0.9, -0.2]]]), np.append(y, 0)

cases = {"hard margin": (np.inf, X, y), "and an outlier": (np.inf, X_out, y_out), "C = 0.1": (0.1, X_out, y_out)}
figure, axes = plt.subplots(1, 3, figsize=(9.6, 3.8), layout="constrained")
for ax, (title, (C, X_now, y_now)) in zip(axes, cases.items(), strict=True):
    model = SVC(kernel="linear", C=C).fit(X_now, y_now)
    plot_boundary(model, X_now, y_now, ax=ax, legend=False)
    half_width = 1.0 / margins(model, X_now, y_now).weight_norm
    ax.set_title(f"{title}: half-width {half_width:.2f}")
    ax.set(xlabel="", ylabel="")
    print(f"{title:15} {len(model.support_)} support vectors, holds {model.certificate_.holds}")
