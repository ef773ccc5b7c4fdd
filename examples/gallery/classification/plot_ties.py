"""
Ties between votes
==================

Four classes have six pairs, and where three pairs vote in a circle, votes alone decide nothing: scikit-learn takes the
first class. ``break_ties=True`` asks the decision values instead. The two pictures differ in the small regions in the
middle.

After scikit-learn's example "SVM tie breaking".
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from widemargin import SVC
from widemargin.plots import plot_boundary

X, y = make_blobs(random_state=27, centers=4)

figure, axes = plt.subplots(1, 2, figsize=(8.4, 4.2), layout="constrained")
line = np.linspace(-10, 10, 200)
at = np.column_stack([each.ravel() for each in np.meshgrid(line, line)])
answers = []
for ax, break_ties in zip(axes, (False, True), strict=True):
    model = SVC(kernel="linear", break_ties=break_ties).fit(X, y)
    plot_boundary(model, X, y, ax=ax, legend=False, rings=False)
    ax.set_title(f"break_ties={break_ties}")
    answers.append(model.predict(at))
print(f"the answers differ on {np.mean(answers[0] != answers[1]):.2%} of a square; holds {model.certificate_.holds}")
