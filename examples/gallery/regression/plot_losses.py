"""
Losses
======

What an error costs: nothing up to epsilon and then in proportion, its square, and the square of least squares. Only the
first two leave most samples without a part in the function.

After Marsland, Machine Learning: An Algorithmic Perspective, figure 8.10, and Cristianini & Shawe-Taylor, chapter 6.
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import SVR, KernelRidge
from widemargin.plots import plot_tube

error = np.linspace(-2.0, 2.0, 401)
beyond = np.maximum(np.abs(error) - 0.5, 0.0)
for name, values in {"epsilon-insensitive": beyond, "its square": beyond**2, "squared": error**2}.items():
    plt.plot(error, values, label=name)
plt.xlabel("error")
plt.ylabel("loss")
plt.ylim(0.0, 2.5)
plt.legend()

# %%
# One outlier shows the difference: it costs the tube in proportion, and the square pulls the curve towards it.
rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0.0, 6.0, 50))[:, None]
y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=50)
y[25] += 4.0
tube = SVR(C=1.0, epsilon=0.2, gamma=1.0).fit(X, y)
ridge = KernelRidge(alpha=0.5, kernel="rbf", gamma=1.0).fit(X, y)
ax = plot_tube(tube, X, y)
line = np.linspace(0.0, 6.0, 300)[:, None]
ax.plot(line, ridge.predict(line), color="#D55E00", linestyle="dashed", label="kernel ridge")
ax.legend()
print(tube.certificate_)
