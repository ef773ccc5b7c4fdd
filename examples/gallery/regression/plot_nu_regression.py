"""
A tube that finds its own width
===============================

``NuSVR`` fits epsilon: nu bounds the share of samples outside the tube. Where the noise doubles, the tube does too.
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import NuSVR

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0.0, 6.0, 200))[:, None]
figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.8), layout="constrained", sharey=True)
for ax, noise in zip(axes, (0.15, 0.3), strict=True):
    y = np.sin(X[:, 0]) + noise * rng.normal(size=200)
    model = NuSVR(nu=0.2, C=3.0, gamma=0.7, tol=1e-5).fit(X, y)
    curve = model.predict(X)
    free = model.support_[np.abs(model.dual_coef_[0]) < 3.0 - 1e-9]
    width = np.median(np.abs(y - curve)[free])  # free support vectors lie on the edge of the tube
    ax.scatter(X, y, s=10, color="#0072B2")
    ax.plot(X, curve, color="black")
    ax.fill_between(X[:, 0], curve - width, curve + width, color="#0072B2", alpha=0.15)
    outside = np.mean(np.abs(y - curve) > width + 1e-4)
    ax.set_title(f"noise {noise}: half-width {width:.2f}, {outside:.0%} outside")
print(model.certificate_)
