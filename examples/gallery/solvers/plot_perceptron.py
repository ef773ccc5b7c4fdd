"""
The perceptron and the widest margin
====================================

A perceptron stops at the first line that separates; which one depends on the order of the samples. The support vector
machine has one answer. Novikoff's theorem bounds the perceptron's mistakes by the square of radius over margin.

After the CS229 notes of Ng & Ma, part VI.
"""

import numpy as np
from sklearn.datasets import make_blobs

from widemargin import SVC, KernelPerceptron, margins
from widemargin.plots import plot_boundary

X, y = make_blobs(n_samples=60, centers=[(-2, -1), (2, 1)], cluster_std=0.8, random_state=5)
best = SVC(kernel="linear", C=np.inf).fit(X, y)
ax = plot_boundary(best, X, y, legend=False)
line = np.array([X[:, 0].min() - 1, X[:, 0].max() + 1])
for seed in range(6):
    learner = KernelPerceptron(kernel="linear", variant="last", max_iter=100, random_state=seed).fit(X, y)
    at_zero, at_x, at_y = learner.decision_function([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    ax.plot(line, -(at_zero + (at_x - at_zero) * line) / (at_y - at_zero), color="#CC79A7", linewidth=1)
ax.set_title("the widest margin, and six runs of the perceptron (thin lines)")

# %%
print(f"mistakes are bounded by (R / margin)^2 = {margins(best, X, y).ratio:.1f}")
print(best.certificate_)
