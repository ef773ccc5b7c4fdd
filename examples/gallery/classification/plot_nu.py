"""
Choosing a share instead of a price
===================================

``NuSVC`` replaces C by nu, a share of the samples: at most nu of them are on the wrong side of their margin, and at
least nu of them are support vectors. Between these bounds lies what the fit finds.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from widemargin import NuSVC, margins
from widemargin.plots import plot_boundary

X, y = make_moons(300, noise=0.3, random_state=0)
shares = np.linspace(0.2, 0.95, 16)
inside, support = [], []
for nu in shares:
    model = NuSVC(nu=nu, gamma=1.0, tol=1e-6).fit(X, y)
    assert model.certificate_.holds
    inside.append(np.mean(margins(model, X, y).functional < 1.0 - 1e-4))
    support.append(len(model.support_) / len(X))
    assert inside[-1] <= nu <= support[-1]

figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 4.2), layout="constrained")
left.plot(shares, support, marker="o", label="support vectors")
left.plot(shares, shares, color="black", linewidth=1, label="nu")
left.plot(shares, inside, marker="s", label="inside the margin")
left.set(xlabel="nu", ylabel="share of the samples")
left.legend()
model = NuSVC(nu=0.3, gamma=1.0).fit(X, y)
plot_boundary(model, X, y, ax=right, legend=False, slack=False)
right.set_title("nu = 0.3")

# %%
# A nu above twice the share of the smaller class cannot be reached, and is refused.
print(model.certificate_)
