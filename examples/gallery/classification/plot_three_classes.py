"""
Three classes: pairs, or one against the rest
=============================================

An SVM separates two classes. Of several, either each pair gets a machine and they vote (``multi_class="ovo"``, as
LIBSVM), or each class is separated from all others (``"ovr"``). The certificate is that of the worst of these problems.

After scikit-learn's example "Plot different SVM classifiers in the iris dataset".
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from widemargin import SVC
from widemargin.plots import plot_boundary

X, y = load_iris(return_X_y=True)
X = X[:, :2]  # the sepals alone, so that there is a picture, and an overlap

figure, axes = plt.subplots(2, 2, figsize=(8.4, 7.2), layout="constrained")
for row, kernel in zip(axes, ("linear", "rbf"), strict=True):
    for ax, scheme in zip(row, ("ovo", "ovr"), strict=True):
        model = SVC(kernel=kernel, multi_class=scheme, gamma=0.7).fit(X, y)
        plot_boundary(model, X, y, ax=ax, legend=False, rings=False)
        ax.set_title(f"{kernel}, {scheme}: {model.score(X, y):.0%} right", loc="left")
        ax.set(xlabel="sepal length (cm)", ylabel="sepal width (cm)")

# %%
# The certificate of a model with several classes, and those of its pairs:
print(model.certificate_)
print([f"{each.gap:.1e}" for each in model.certificates_])
