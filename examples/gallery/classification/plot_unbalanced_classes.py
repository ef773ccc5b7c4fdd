"""
A rare class
============

Fifty points against a thousand: without weights the machine may give up most of the rare class, since that costs
little. ``class_weight="balanced"`` makes both classes cost the same. It trades precision for recall; which is right
depends on what a mistake costs.

After scikit-learn's example "SVM: Separating hyperplane for unbalanced classes".
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import precision_score, recall_score

from widemargin import SVC
from widemargin.plots import plot_boundary

rng = np.random.default_rng(0)
X = np.vstack([1.4 * rng.normal(size=(1000, 2)), 0.7 * rng.normal(size=(50, 2)) + [2.0, 2.0]])
y = np.repeat([0, 1], [1000, 50])

figure, axes = plt.subplots(1, 2, figsize=(8.4, 4.4), layout="constrained")
for ax, weight in zip(axes, (None, "balanced"), strict=True):
    model = SVC(kernel="linear", class_weight=weight).fit(X, y)
    plot_boundary(model, X, y, ax=ax, legend=False, slack=False, rings=False)
    found = model.predict(X)
    precision, recall = precision_score(y, found, zero_division=0.0), recall_score(y, found)
    ax.set_title(f"class_weight={weight!r}\nprecision {precision:.2f}, recall {recall:.2f}", loc="left")
    print(f"{weight}: holds {model.certificate_.holds}, gap {model.certificate_.gap:.1e}")
