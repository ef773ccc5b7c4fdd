"""
Violation, gap and objective while training
===========================================

The dual rises towards the optimum, the gap to the primal closes, and the largest violation falls by jumps. Platt's SMO
takes thousands of small steps; each pass over the data is a point.
"""

from sklearn.datasets import make_moons

from widemargin import SVC
from widemargin.plots import plot_convergence
from widemargin.training.trace import Trace

X, y = make_moons(500, noise=0.22, random_state=3)
model = SVC(C=10, gamma=2.0, solver=Trace().of("platt")).fit(X, y)
plot_convergence(model)

# %%
print(model.certificate_)
