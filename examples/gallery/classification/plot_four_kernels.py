"""
One data set, four kernels
==========================

The kernel decides which boundaries are possible: lines, curves of degree 3, anything smooth, or something that is not
a kernel at all. The sigmoid is not positive semi-definite for most parameters: the fit warns, and its certificate
speaks of the KKT conditions only.

After scikit-learn's example "Plot classification boundaries with different SVM kernels".
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVC
from widemargin.plots import plot_boundary

X, y = make_moons(80, noise=0.2, random_state=4)
kernels = {
    "linear": {},
    "poly": {"degree": 3, "coef0": 1.0},
    "rbf": {"gamma": 2.0},
    "sigmoid": {"gamma": 0.2, "coef0": -0.5},
}

figure, axes = plt.subplots(2, 2, figsize=(8.4, 7.6), layout="constrained")
for ax, (kernel, options) in zip(axes.flat, kernels.items(), strict=True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of the sigmoid
        model = SVC(kernel=kernel, C=2.0, **options).fit(X, y)
    plot_boundary(model, X, y, ax=ax, legend=False, slack=False)
    ax.set_title(f"{kernel}: {model.score(X, y):.0%} right")
    proven = model.certificate_
    print(f"{kernel:8}  holds {proven.holds}   known to be a kernel {proven.is_psd}   gap {proven.gap:.1e}")
