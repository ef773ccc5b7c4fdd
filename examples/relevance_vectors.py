"""Relevance vectors beside support vectors: how many, how good, how sure.

The same data and kernel for both; C (and epsilon) of the support vector machine by cross-validation, while the
relevance vector machine has none to choose. On sinc(x) the error bars of RVR and of a Gaussian process are printed too.

    python examples/relevance_vectors.py

See  Tipping (2001), "Sparse Bayesian learning and the relevance vector machine", sections 5.1 and 5.2.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_moons
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV

from widemargin import RVC, RVR, SVC, SVR, GaussianProcessRegressor
from widemargin.kernels import Gaussian


def classification(n: int = 400) -> dict[str, tuple[int, float]]:
    """Vectors and accuracy of both machines on two moons."""
    X, y = make_moons(n, noise=0.25, random_state=0)
    new, truth = make_moons(4000, noise=0.25, random_state=1)
    relevance = RVC(gamma=1.0).fit(X, y)
    support = GridSearchCV(SVC(gamma=1.0), {"C": [0.1, 1.0, 10.0, 100.0]}).fit(X, y).best_estimator_
    result = {
        "RVC": (len(relevance.relevance_), relevance.score(new, truth)),
        "SVC": (len(support.support_), support.score(new, truth)),
    }
    for name, (count, accuracy) in result.items():
        print(f"{name}   {count:4d} vectors   accuracy {accuracy:.4f}")
    print(f"RVC   log loss {log_loss(truth, relevance.predict_proba(new)):.3f}\n")
    return result


def regression(n: int = 100, noise: float = 0.1) -> dict[str, tuple[int, float]]:
    """Vectors and distance from the truth on sinc(x) with noise."""
    X = np.linspace(-10.0, 10.0, n)[:, None]
    truth = np.sinc(X[:, 0] / np.pi)
    y = truth + noise * np.random.default_rng(0).normal(size=n)
    relevance = RVR(gamma=0.1).fit(X, y)
    grid = {"C": [0.1, 1.0, 10.0], "epsilon": [0.01, 0.1, 0.2]}
    support = GridSearchCV(SVR(gamma=0.1), grid).fit(X, y).best_estimator_
    process = GaussianProcessRegressor(1.0 * Gaussian(0.1), noise_variance=0.1).fit(X, y)
    models = {"RVR": relevance, "SVR": support, "Gaussian process": process}
    counts = {"RVR": len(relevance.relevance_), "SVR": len(support.support_), "Gaussian process": n}
    result = {}
    for name, model in models.items():
        distance = float(np.sqrt(np.mean((model.predict(X) - truth) ** 2)))
        result[name] = (counts[name], distance)
        print(f"{name:<17} {counts[name]:4d} vectors   distance from the truth {distance:.4f}")
    print(f"noise {noise}: RVR finds {np.sqrt(relevance.noise_variance_):.3f}, the Gaussian process ", end="")
    print(f"{np.sqrt(process.noise_variance_):.3f}")
    return result


if __name__ == "__main__":
    classification()
    regression()
