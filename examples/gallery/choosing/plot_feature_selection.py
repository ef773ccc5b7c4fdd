"""
Features that only disturb
==========================

Thirteen measurements of wine and a hundred columns of noise. A univariate test in front of the machine throws most of
the noise away, and the curve says how much to keep.

After scikit-learn's example "SVM-Anova: SVM with univariate feature selection".
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.feature_selection import SelectPercentile, f_classif
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC

X, y = load_wine(return_X_y=True)
X = np.hstack([X, 2.0 * np.random.default_rng(0).random((len(X), 100))])
folds = StratifiedKFold(5, shuffle=True, random_state=0)
shares = (2, 4, 6, 8, 10, 15, 20, 30, 50, 75, 100)
means, errors = [], []
for share in shares:
    model = make_pipeline(SelectPercentile(f_classif, percentile=share), StandardScaler(), SVC())
    scores = cross_val_score(model, X, y, cv=folds)
    means.append(scores.mean())
    errors.append(scores.std() / np.sqrt(len(scores)))
plt.errorbar(shares, means, errors, marker="o", capsize=3)
plt.xlabel("features kept (%)")
plt.ylabel("accuracy, 5 folds")

# %%
print(model.fit(X, y)[-1].certificate_)
