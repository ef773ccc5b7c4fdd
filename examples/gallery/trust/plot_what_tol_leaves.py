"""
What a tolerance leaves open
============================

A model trained to a loose tolerance differs from the optimum. Measured against a fit to 1e-8: how many predictions
change, and how far decision values move. At the default 1e-3 next to nothing does.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification

from widemargin import SVC

X, y = make_classification(2400, n_features=12, n_informative=6, flip_y=0.1, random_state=0)
X_new = X[400:]
exact = SVC(C=5.0, tol=1e-8).fit(X[:400], y[:400])
truth = exact.decision_function(X_new)
tols = np.logspace(0, -5, 11)
moved, changed, gaps = [], [], []
for tol in tols:
    model = SVC(C=5.0, tol=tol, solver="platt").fit(X[:400], y[:400])
    values = model.decision_function(X_new)
    moved.append(np.abs(values - truth).max())
    changed.append(np.mean((values > 0) != (truth > 0)))
    gaps.append(model.certificate_.gap)

figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.9), layout="constrained")
left.loglog(tols, moved, marker="o", label="largest change of a decision value")
left.loglog(tols, gaps, marker="s", label="relative gap, proven")
left.legend()
right.semilogx(tols, np.array(changed) * 100, marker="o", color="#D55E00")
right.set_ylabel("predictions that change (%)")
for ax in (left, right):
    ax.set_xlabel("tol")
    ax.invert_xaxis()
