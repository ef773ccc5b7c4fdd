"""
Ten algorithms, one problem
===========================

From Platt's SMO to interior points, the algorithms of the literature solve the same dual. They differ in the number and
the size of their steps, not in the answer: all certificates hold, and the objectives agree.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from widemargin import SVC

X, y = make_moons(150, noise=0.25, random_state=0)
solvers = [
    "auto",
    "platt",
    "simplified",
    "keerthi",
    "chunking",
    "osuna",
    "qp",
    "multiplicative",
    "adatron",
    "fixed-threshold",
]
steps = {}
for name in solvers:
    model = SVC(C=2.0, gamma=1.0, solver=name).fit(X, y)
    steps[name] = int(model.n_iter_[0])
    proven = model.certificate_
    print(f"{name:11} holds {proven.holds}   objective {proven.objective:11.6f}   bias {model.intercept_[0]:+.4f}")
plt.barh(list(steps), list(steps.values()))
plt.xscale("log")
plt.xlabel("steps, each as large as the algorithm makes them")
plt.gca().invert_yaxis()
plt.tight_layout()

# %%
# ``adatron`` and ``fixed-threshold`` change one multiplier at a time, which the constraint on their sum does not allow.
# They solve the problem with a penalised bias instead, which is another one, and so their objective differs a little.
