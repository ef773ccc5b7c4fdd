"""Iris on its first two features: three one-against-rest machines, the largest decision value decides.

Left the linear kernel, right the polynomial kernel of degree 3. Length and width of the sepals separate setosa from the
others, but not these two from each other. With all four features both kernels do well; the titles say how well.

See  Marsland (2015), Machine Learning: An Algorithmic Perspective, 2nd edition, figure 8.9.
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split

from widemargin import SVC
from widemargin.plots import plot_boundary
from widemargin.plots.palette import legend_entries

KERNELS = {
    "linear": {"kernel": "linear"},
    "polynomial, degree 3": {"kernel": "poly", "degree": 3, "gamma": 0.1, "coef0": 1.0},
}


def accuracies(settings: dict[str, Any]) -> tuple[SVC, float, float]:
    """The machine on two features, and the accuracy on the other half of the data with two and with four."""
    X, y = load_iris(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    two = SVC(multi_class="ovr", **settings).fit(X_train[:, :2], y_train)
    four = SVC(multi_class="ovr", **settings).fit(X_train, y_train)
    return two, two.score(X_test[:, :2], y_test), four.score(X_test, y_test)


def draw() -> Any:
    """Two pictures side by side."""
    data = load_iris()
    X, _, labels, _ = train_test_split(data.data, data.target, test_size=0.5, random_state=0, stratify=data.target)
    figure, axes = plt.subplots(1, 2, figsize=(10.4, 5.4), layout="constrained", sharey=True)
    for ax, (name, settings) in zip(axes, KERNELS.items(), strict=True):
        machine, two, four = accuracies(settings)
        plot_boundary(machine, X[:, :2], labels, ax=ax, legend=False)
        ax.set_title(f"{name}: {two:.0%} right, with all four features {four:.0%}", fontsize=10)
        ax.set(xlabel="sepal length in cm", ylabel="sepal width in cm" if ax is axes[0] else "")
    handles, names = legend_entries(axes[0])
    names = [data.target_names[int(name[-1])] if name.startswith("class") else name for name in names]
    figure.legend(handles, names, loc="outside lower center", ncols=3, frameon=False)
    return figure
