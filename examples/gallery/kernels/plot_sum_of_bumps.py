"""
What a Gaussian machine is made of
==================================

The decision function is a sum of bumps, one on each support vector, upwards for one class and downwards for the other.
Their sum is the landscape; the boundary is its shore.
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import SVC

rng = np.random.default_rng(2)
X = np.sort(rng.uniform(0.0, 10.0, 40))[:, None]
y = (np.sin(X[:, 0]) + 0.3 * rng.normal(size=40) > 0).astype(int)
model = SVC(gamma=1.0, C=1.0).fit(X, y)

line = np.linspace(0.0, 10.0, 400)
for centre, weight in zip(model.support_vectors_[:, 0], model.dual_coef_[0], strict=True):
    plt.plot(
        line, weight * np.exp(-((line - centre) ** 2)), color="#D55E00" if weight > 0 else "#0072B2", linewidth=0.6
    )
plt.plot(line, model.decision_function(line[:, None]), color="black", linewidth=2, label="f(x), with the bias")
plt.scatter(X, 2.0 * y - 1.0, c=np.where(y == 1, "#D55E00", "#0072B2"), s=18, zorder=3)
plt.axhline(0.0, color="#666666", linewidth=1)
plt.xlabel("x")
plt.legend()
print(model.certificate_)
