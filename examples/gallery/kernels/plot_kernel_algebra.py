"""
Adding and multiplying kernels
==============================

A sum of kernels adds functions: a slow trend and something that comes back every year. A product narrows one by the
other. Built from parts, the kernel can go on where a single Gaussian falls back to the mean.
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import SVR
from widemargin.kernels import Gaussian, Linear, PairKernel

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0.0, 6.0, 120))[:, None]  # years
y = 0.4 * X[:, 0] + np.sin(2 * np.pi * X[:, 0]) + 0.15 * rng.normal(size=120)
line = np.linspace(0.0, 9.0, 500)[:, None]

seasonal = PairKernel(lambda s, t: np.exp(-2.0 * np.sin(np.pi * (s[0] - t[0])) ** 2))  # periodic, of one year
kernels = {"Gaussian(2.0)": Gaussian(2.0), "0.1 * Linear() + seasonal": 0.1 * Linear() + seasonal}
plt.scatter(X, y, s=9, color="#666666")
for (name, kernel), colour in zip(kernels.items(), ("#D55E00", "#0072B2"), strict=True):
    model = SVR(kernel=kernel, C=10.0, epsilon=0.1).fit(X, y)
    plt.plot(line, model.predict(line), color=colour, label=name)
plt.axvspan(6.0, 9.0, color="#EEEEEE", zorder=0)
plt.xlabel("years")
plt.legend()

# %%
# The library cannot know that a function of yours is a kernel, so the certificate says what that leaves open.
print(model.certificate_)
