"""
Scale the features first
========================

A Gaussian kernel sees distances, so a feature in large units drowns the others. The wine data have one feature around
700 and others below 1; scaled, every C is better than the best without scaling.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC

X, y = load_wine(return_X_y=True)
Cs = np.logspace(-1, 4, 11)
folds = StratifiedKFold(5, shuffle=True, random_state=0)
for name, make in {"as measured": SVC, "scaled": lambda C: make_pipeline(StandardScaler(), SVC(C=C))}.items():
    scores = [cross_val_score(make(C=C), X, y, cv=folds).mean() for C in Cs]
    plt.plot(Cs, scores, marker="o", label=name)
plt.xscale("log")
plt.xlabel("C")
plt.ylabel("accuracy, 5 folds")
plt.legend()

# %%
model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
print(model[-1].certificate_)
