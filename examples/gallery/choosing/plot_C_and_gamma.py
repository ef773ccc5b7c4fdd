"""
C and gamma on a map
====================

Scores over C and gamma usually form a ridge: a smoother kernel needs a larger C. ``SVCCV`` looks for it with ranges
taken from the data: a coarse grid, extended where the best cell lies on its edge and refined around it. Cells it did
not need are left blank.

After scikit-learn's example "RBF SVM parameters".
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from widemargin import SVC, SVCCV
from widemargin.model_selection import GridSearchCV
from widemargin.plots import plot_boundary, plot_grid_search

X, y = make_moons(240, noise=0.25, random_state=3)
grid = {"C": [0.1, 1, 10, 100, 1000], "gamma": [0.01, 0.1, 1, 10, 100]}
figure, (left, right) = plt.subplots(1, 2, figsize=(9.8, 4.2), layout="constrained")
plot_grid_search(GridSearchCV(SVC(), grid).fit(X, y), ax=left, colorbar=False)
left.set_title(f"GridSearchCV, {left.get_title(loc='left')}", loc="left")
tuned = SVCCV(random_state=0).fit(X, y)
plot_grid_search(tuned, ax=right, colorbar=False)
right.set_title(f"SVCCV, {right.get_title(loc='left')}", loc="left")

# %%
# After ``fit``, an ``SVCCV`` is the classifier with the parameters it found.
print(tuned.best_params_, f"cross-validated accuracy {tuned.best_score_:.3f}")
print(tuned.certificate_)
plot_boundary(tuned, X, y, slack=False)
