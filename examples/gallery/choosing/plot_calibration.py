"""
Probabilities that mean what they say
=====================================

A decision value is no probability. ``SVCCV(probability=True)`` fits Platt's sigmoid to the held-out values it has from
the search. Where the model says 0.7, seven of ten should be of that class: points near the diagonal.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from widemargin import SVCCV
from widemargin.plots import plot_reliability

X, y = make_moons(600, noise=0.4, random_state=0)
X_new, y_new = make_moons(4000, noise=0.4, random_state=1)
model = SVCCV(probability=True, random_state=0).fit(X, y)

figure, (left, right) = plt.subplots(1, 2, figsize=(9.4, 4.4), layout="constrained")
plot_reliability(model, X_new, y_new, ax=left)
values, chances = model.decision_function(X_new), model.predict_proba(X_new)[:, 1]
order = values.argsort()
right.plot(values[order], chances[order], color="black", linewidth=1)
for label in (0, 1):
    right.hist(values[y_new == label], bins=60, density=True, alpha=0.6, label=f"class {label}")
right.set(xlabel="decision value", ylabel="density, and the sigmoid")
right.legend()
print(model.certificate_)
