"""
A step of SMO
=============

Two multipliers of different classes can only move together, along a line. The best point on the line may lie outside
the box; then the step ends at the border. This is all of Platt's algorithm but the choice of the pair.

After Platt, Sequential Minimal Optimization (1998), figure 1 and equations 13 to 19.
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import SVC

C, y1, y2 = 1.0, 1, -1
K = np.array([[1.0, 0.3], [0.3, 1.0]])
alpha, E = np.array([0.15, 0.35]), np.array([-0.9, 0.5])  # the multipliers, and the errors f(x) - y
L, H = max(0.0, alpha[1] - alpha[0]), min(C, C + alpha[1] - alpha[0])  # Platt's equation 13
eta = K[0, 0] + K[1, 1] - 2 * K[0, 1]
free = alpha[1] + y2 * (E[0] - E[1]) / eta  # 16
clipped = min(H, max(L, free))  # 17
other = alpha[0] + y1 * y2 * (alpha[1] - clipped)  # 18
print(f"L {L:.2f}  H {H:.2f}  eta {eta:.2f}  unclipped {free:.2f}  clipped {clipped:.2f}")

figure, ax = plt.subplots(figsize=(5.2, 5.0), layout="constrained")
ax.add_patch(plt.Rectangle((0, 0), C, C, facecolor="#E8F0F7", edgecolor="black"))
along = np.array([-0.3, 1.5])
ax.plot(along - alpha[1] + alpha[0], along, color="#666666", linestyle="dashed")
start, ends = alpha[0] + y1 * y2 * alpha[1], alpha
for point, name in [((alpha[0], alpha[1]), "before"), ((other, clipped), "after, clipped to H"),
                    ((alpha[0] + y1 * y2 * (alpha[1] - free), free), "without the box")]:  # fmt: skip
    ax.scatter(*point, zorder=3)
    ax.annotate(name, point, xytext=(8, -4), textcoords="offset points")
ax.set(xlim=(-0.4, 1.9), ylim=(-0.3, 1.9), xlabel="alpha 1", ylabel="alpha 2", aspect="equal")

# %%
# A machine trained by such steps alone, with its certificate:
X = np.array([[0.0, 0.0], [1.0, 0.2], [0.8, 1.0], [2.0, 1.5]])
print(SVC(kernel="linear", solver="platt").fit(X, [0, 0, 1, 1]).certificate_)
