"""
A digit nobody has seen
=======================

Trained on images of the digit 8 alone, a one-class SVM ranks other images by how little they look like one. The eights
and the others have different decision values; the worst eights are odd indeed.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from widemargin import OneClassSVM

X, y = load_digits(return_X_y=True)
eights, others = X[y == 8] / 16.0, X[y != 8] / 16.0
model = OneClassSVM(nu=0.1, gamma=0.1).fit(eights[:120])

plt.hist(model.decision_function(eights[120:]), bins=25, density=True, alpha=0.7, label="other eights")
plt.hist(model.decision_function(others), bins=60, density=True, alpha=0.7, label="other digits")
plt.axvline(0.0, color="black", linewidth=1)
plt.xlabel("decision value")
plt.legend()

# %%
order = model.decision_function(eights).argsort()
figure, axes = plt.subplots(2, 6, figsize=(7.0, 2.8), layout="constrained")
for row, chosen, title in zip(axes, (order[:6], order[-6:]), ("oddest", "most usual"), strict=True):
    for ax, at in zip(row, chosen, strict=True):
        ax.imshow(eights[at].reshape(8, 8), cmap="gray_r")
        ax.set(xticks=[], yticks=[])
    row[0].set_ylabel(title)
print(model.certificate_)
