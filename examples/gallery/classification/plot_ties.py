"""
Ties between votes
==================

Three classes have three pairs, and where these vote in a circle, votes alone decide nothing: LIBSVM and scikit-learn
take the first class. ``break_ties=True`` asks the decision values instead. The pictures differ in the triangle in the
middle.

After scikit-learn's example "SVM tie breaking".
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.datasets import make_blobs

from widemargin import SVC

X, y = make_blobs(60, centers=3, cluster_std=1.5, random_state=44)
across, up = (np.linspace(column.min() - 1, column.max() + 1, 301) for column in X.T)
at = np.column_stack([each.ravel() for each in np.meshgrid(across, up)])

figure, axes = plt.subplots(1, 2, figsize=(8.4, 4.2), layout="constrained", sharey=True)
answers = []
for ax, break_ties in zip(axes, (False, True), strict=True):
    model = SVC(kernel="linear", break_ties=break_ties).fit(X, y)
    answers.append(model.predict(at))
    shades = ListedColormap(["#9CC7E3", "#F2BD97", "#99D8C7"])
    ax.pcolormesh(across, up, answers[-1].reshape(301, 301), cmap=shades, rasterized=True)
    ax.scatter(
        *X.T, c=y, s=14, cmap=ListedColormap(["#0072B2", "#D55E00", "#009E73"]), edgecolors="white", linewidths=0.4
    )
    ax.set_title(f"break_ties={break_ties}")
print(f"the answers differ on {np.mean(answers[0] != answers[1]):.1%} of the picture; holds {model.certificate_.holds}")
