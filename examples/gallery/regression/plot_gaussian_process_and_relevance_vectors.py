"""
A Gaussian process beside SVR and RVR
=====================================

Three machines with the same kernel on noisy samples of sinc(x). The support vector machine has a tube and no error
bars; the relevance vector machine keeps a handful of samples; the Gaussian process keeps all of them, and its error
bars open where there are no data.

After Tipping, Sparse Bayesian learning and the relevance vector machine (2001), and Cristianini & Shawe-Taylor,
section 7.6.
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import RVR, SVR, GaussianProcessRegressor
from widemargin.kernels import Gaussian

rng = np.random.default_rng(0)
X = np.sort(np.concatenate([rng.uniform(-10, 1, 55), rng.uniform(6, 10, 20)]))[:, None]
y = np.sinc(X[:, 0] / np.pi) + 0.08 * rng.normal(size=len(X))
line = np.linspace(-13, 13, 400)[:, None]

support = SVR(C=1.0, epsilon=0.08, gamma=0.1).fit(X, y)
relevance = RVR(gamma=0.1).fit(X, y)
process = GaussianProcessRegressor(0.2 * Gaussian(0.1), noise_variance=0.0064, optimizer=None).fit(X, y)

figure, axes = plt.subplots(1, 3, figsize=(10.0, 3.8), layout="constrained", sharey=True)
for ax, (title, model, kept) in zip(
    axes,
    [
        (f"SVR: {len(support.support_)} support vectors", support, support.support_),
        (f"RVR: {len(relevance.relevance_)} relevance vectors", relevance, relevance.relevance_),
        (f"Gaussian process: all {len(X)}", process, np.arange(0)),
    ],
    strict=True,
):
    ax.scatter(X, y, s=9, color="#0072B2")
    ax.scatter(X[kept], y[kept], s=60, facecolors="none", edgecolors="black", linewidths=0.7)
    if model is support:
        mean = model.predict(line)
        ax.fill_between(line[:, 0], mean - 0.08, mean + 0.08, color="#0072B2", alpha=0.15)
    else:
        mean, std = model.predict(line, return_std=True)
        ax.fill_between(line[:, 0], mean - 2 * std, mean + 2 * std, color="#D55E00", alpha=0.15)
    ax.plot(line, mean, color="black", linewidth=1.2)
    ax.set_title(title)

# %%
# The Gaussian process has a certificate too: a bound on the distance of its predictions from the exact ones.
print(process.certificate_)
