"""
Verifying scikit-learn's models
===============================

``widemargin.verify`` computes a certificate for a model that was trained elsewhere, from its public attributes and the
training data. LIBSVM's tolerance is absolute, so the relative gap that ``tol=1e-3`` leaves depends on C; both libraries
are shown.

"Holds" below means that the largest violation, with all rounding counted, is at most 1e-3.
"""

import matplotlib.pyplot as plt
import numpy as np
import sklearn.svm
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import widemargin

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
Cs = np.logspace(-2, 4, 13)
for name, package in {"scikit-learn": sklearn.svm, "widemargin": widemargin}.items():
    found = [widemargin.verify(package.SVC(C=C).fit(X, y), X, y, tol=1e-3) for C in Cs]
    plt.plot(Cs, [each.gap for each in found], marker="o", label=f"{name}: {sum(f.holds for f in found)} of 13 hold")
plt.xscale("log")
plt.yscale("log")
plt.xlabel("C")
plt.ylabel("relative gap, proven")
plt.legend()

# %%
# The certificate of one of scikit-learn's models:
print(widemargin.verify(sklearn.svm.SVC(C=10).fit(X, y), X, y))
