"""
The widest margin
=================

Of all lines that separate two classes, the support vector machine takes the one that is farthest from both. Two or
three points hold it in place; every other point could move, or go, without changing it.

After scikit-learn's example "Maximum margin separating hyperplane".
"""

import numpy as np
from sklearn.datasets import make_blobs

from widemargin import SVC, margins
from widemargin.plots import plot_boundary

X, y = make_blobs(n_samples=40, centers=2, random_state=6)
model = SVC(kernel="linear", C=np.inf).fit(X, y)
plot_boundary(model, X, y)

# %%
# With ``C=np.inf`` there is no slack: a hard margin. Its width on either side is 1 / abs(w), and the certificate bounds
# how much wider any other line could make it.
found = margins(model, X, y)
print(f"margin {found.geometric_margin:.4f}, support vectors {len(model.support_)}")
print(model.certificate_)
