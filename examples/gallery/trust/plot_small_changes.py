"""
A certificate that must not hold
================================

A certificate that always holds proves nothing. Here the bias and one multiplier of a fitted model are changed on
purpose, by more and more: the proven violation grows with the change, and beyond the tolerance the certificate does not
hold.
"""

import matplotlib.pyplot as plt
import numpy as np
import sklearn.svm
from sklearn.datasets import make_moons

import widemargin

X, y = make_moons(200, noise=0.25, random_state=0)
changes = np.logspace(-6, 0, 19)
for what in ("bias", "multiplier"):
    violations = []
    for change in changes:
        model = sklearn.svm.SVC(C=1.0, gamma=1.0, tol=1e-8).fit(X, y)
        if what == "bias":
            model.intercept_ += change
        else:
            model.dual_coef_[0, 0] *= 1.0 - change
            model._dual_coef_[0, 0] *= 1.0 - change
        violations.append(widemargin.verify(model, X, y, tol=1e-3).violation)
    plt.loglog(changes, violations, marker=".", label=f"{what} changed")
plt.axhline(1e-3, color="black", linewidth=1, label="tolerance")
plt.xlabel("size of the change")
plt.ylabel("largest KKT violation, proven")
plt.legend()
