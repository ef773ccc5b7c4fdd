"""
The best C and the number of samples
====================================

C multiplies a sum over the samples, so the balance between loss and penalty shifts as samples are added. With the l2
penalty the best C hardly moves; with l1, which selects features, it is C times n that stays the same.

After scikit-learn's example "Scaling the regularization parameter for SVCs".
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification

from widemargin import LinearSVC, l1_min_c

X, y = make_classification(4600, n_features=150, n_informative=5, n_redundant=0, flip_y=0.2, random_state=1)
X_new, y_new = X[600:], y[600:]

figure, axes = plt.subplots(1, 2, figsize=(9.0, 4.0), layout="constrained", sharey=True)
for n in (100, 200, 400, 600):
    X_n, y_n = X[:n], y[:n]
    Cs = l1_min_c(X_n, y_n, loss="squared_hinge") * np.logspace(0.1, 2.5, 12)
    scores = [
        LinearSVC(penalty="l1", dual=False, C=C, max_iter=20_000).fit(X_n, y_n).score(X_new, y_new) for C in Cs
    ]
    axes[0].plot(Cs, scores, marker=".", label=f"{n} samples")
    axes[1].plot(Cs * n, scores, marker=".", label=f"{n} samples")
for ax, name in zip(axes, ("C", "C times the number of samples"), strict=True):
    ax.set(xscale="log", xlabel=name)
axes[0].set_ylabel("accuracy on new samples, l1 penalty")
axes[0].legend()

# %%
# The certificate of a linear model bounds the distance of its objective from the optimum:
print(LinearSVC(penalty="l1", dual=False, C=0.1, max_iter=20_000).fit(X[:600], y[:600]).certificate_)
