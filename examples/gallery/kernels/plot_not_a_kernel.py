"""
A similarity that is not a kernel
=================================

The sigmoid tanh(gamma x'z + c) is called a kernel, but for c < 0 its matrix has negative eigenvalues: the dual is not
concave, and a solver that finds a stationary point has not found the best one. ``check_kernel`` produces a proof.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from widemargin import SVC, check_kernel
from widemargin.kernels import Gaussian, Sigmoid

X, y = make_moons(120, noise=0.2, random_state=0)
for name, kernel in {"Gaussian(1)": Gaussian(1.0), "Sigmoid(1, -1)": Sigmoid(1.0, -1.0)}.items():
    values = np.linalg.eigvalsh(kernel(X, X))[::-1]
    plt.plot(np.arange(1, 31), values[:15].tolist() + values[-15:].tolist(), marker=".", label=name)
plt.axhline(0.0, color="black", linewidth=1)
plt.yscale("symlog", linthresh=1e-3)
plt.xlabel("the 15 largest and the 15 smallest eigenvalues")
plt.legend()

# %%
print(check_kernel(Sigmoid(1.0, -1.0), X))
print(SVC(kernel=Gaussian(1.0)).fit(X, y).certificate_.is_psd, "is what the certificate of a Gaussian machine says")
