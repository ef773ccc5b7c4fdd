"""
The margin grows with every pass
================================

Gradient ascent for the maximal margin, one multiplier at a time (kernel-Adatron). The points can be visited in
different orders: all reach the same margin, some much sooner.

After Cristianini & Shawe-Taylor, section 7.7, exercise 1.
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import SVC
from widemargin.solvers.reference import Adatron, Coordinate
from widemargin.training.trace import Trace

rng = np.random.default_rng(0)
X = rng.uniform(-2.0, 2.0, size=(120, 2))
y = np.where(X @ [1.0, 0.5] > 0.2, 1, -1)
X += 0.3 * np.outer(y, [0.9, 0.45])

orders = {
    "one after the other": Adatron("sequential"),
    "the same, over-relaxed by 1.5": Adatron("sequential", omega=1.5),
    "violators only": Adatron("violators"),
    "largest share of the gap": Adatron("gap"),
    "random": Coordinate("random"),
}
for name, solver in orders.items():
    trace = Trace()
    model = SVC(kernel="linear", C=np.inf, solver=trace.of(solver)).fit(X, y)
    assert model.certificate_.holds
    plt.plot(trace.passes, trace.margin, label=f"{name}: {int(trace.passes[-1])} passes")
plt.xscale("symlog")
plt.ylim(bottom=-0.5)
plt.xlabel("passes")
plt.ylabel("smallest y f(x) / |w|")
plt.legend()
