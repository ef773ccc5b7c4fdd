"""
The width of the tube
=====================

A wider tube has fewer support vectors, and from some width on a worse fit. The best width is of the order of the noise,
here 0.2; below it the machine follows noise, which costs support vectors but hardly accuracy.
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import SVR

rng = np.random.default_rng(1)
X = rng.uniform(0.0, 6.0, (300, 1))
y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=300)
line = np.linspace(0.0, 6.0, 400)[:, None]
widths = np.linspace(0.0, 1.0, 21)
counts, errors = [], []
for width in widths:
    model = SVR(C=3.0, epsilon=width, gamma=0.7).fit(X, y)
    assert model.certificate_.holds
    counts.append(len(model.support_) / len(X))
    errors.append(np.sqrt(np.mean((model.predict(line) - np.sin(line[:, 0])) ** 2)))
figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.8), layout="constrained")
left.plot(widths, counts, marker="o")
left.set(xlabel="epsilon", ylabel="share of support vectors")
right.plot(widths, errors, marker="o", color="#D55E00")
right.axvline(0.2, color="#666666", linewidth=1)
right.set(xlabel="epsilon", ylabel="distance from the true curve")
