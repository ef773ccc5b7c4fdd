"""
A kernel of your own
====================

Any function of two sets of samples that returns the matrix of their similarities will do. This one stretches the first
axis, which matters more than the second.

After scikit-learn's example "SVM with custom kernel".
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from widemargin import SVC, check_kernel
from widemargin.plots import plot_boundary, plot_kernel

X, y = load_iris(return_X_y=True)
X = X[:, :2]


def stretched(A, B):
    M = np.array([[2.0, 0.0], [0.0, 1.0]])
    return A @ M @ B.T


model = SVC(kernel=stretched).fit(X, y)
figure, (left, right) = plt.subplots(1, 2, figsize=(9.4, 4.4), layout="constrained")
plot_boundary(model, X, y, ax=left, legend=False, rings=False)
plot_kernel(model, X, y, ax=right)

# %%
# Is it a kernel? A test on samples can only refute that, and here it does not:
print(check_kernel(stretched, X))
print(model.certificate_)
