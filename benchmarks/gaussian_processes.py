"""Kernel ridge regression and Gaussian processes beside scikit-learn and beside GPyTorch's conjugate gradients.

    python -m benchmarks.gaussian_processes DATA_FOLDER sklearn              n = 5,000: fit and predict, same answers?
    python -m benchmarks.gaussian_processes DATA_FOLDER gpytorch [SAMPLES]   cadata and kin40k, same parameters for both
    python -m benchmarks.gaussian_processes DATA_FOLDER kin40k [MEGABYTES]   40,000 samples: seconds and peak memory

DATA_FOLDER holds kin40k/kin40k.csv and cadata/cal_housing.data, plain or .xz. Inputs and targets are standardised. The
libraries take turns; wall and CPU seconds are medians. `gpytorch` fits the parameters once, on 1,500 samples, and gives
them to both libraries: what is compared is the solution of the system and the prediction of the mean on held-out
samples. GPyTorch runs in float32 (its usual precision) at its default tolerances, Cholesky switched off.
"""

from __future__ import annotations

import resource
import statistics
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn.gaussian_process
import sklearn.kernel_ridge
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from benchmarks.peers.datasets import find
from benchmarks.timing import timed
from widemargin import GaussianProcessRegressor, KernelRidge
from widemargin.kernels import Gaussian

FILES = {"kin40k": "kin40k/kin40k.csv", "cadata": "cadata/cal_housing.data"}
TURNS = 3
HELD_OUT = 4000  # samples for the error of predictions


def load(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Standardised inputs and targets in a fixed random order."""
    table = pd.read_csv(find(folder, FILES[name]), header=None)
    table = table.apply(pd.to_numeric, errors="coerce").dropna().to_numpy()
    table = table[np.random.default_rng(0).permutation(len(table))]
    table = (table - table.mean(axis=0)) / table.std(axis=0)
    return np.ascontiguousarray(table[:, :-1]), np.ascontiguousarray(table[:, -1])


def rmse(prediction: np.ndarray, truth: np.ndarray) -> float:
    return float(np.sqrt(np.mean((prediction - truth) ** 2)))


def beside_sklearn(folder: Path) -> None:
    """The two estimators at n = 5,000 on kin40k."""
    X, y = load(folder, "kin40k")
    X, y, new = X[:5000], y[:5000], X[5000:10_000]
    ridge = {"alpha": 0.05, "kernel": "rbf", "gamma": 0.1}
    process = {"kernel": 1.0 * RBF(2.0) + WhiteKernel(0.05), "optimizer": None}
    pairs = {
        "KernelRidge": (KernelRidge(**ridge), sklearn.kernel_ridge.KernelRidge(**ridge), False),
        "GaussianProcessRegressor": (
            GaussianProcessRegressor(**process),
            sklearn.gaussian_process.GaussianProcessRegressor(**process),
            True,
        ),
    }
    for name, (ours, theirs, std) in pairs.items():
        ours.fit(X[:1500], y[:1500]).predict(new[:300], **({"return_std": True} if std else {}))  # compiles
        times: dict[str, list[tuple[float, ...]]] = {"widemargin": [], "scikit-learn": []}
        answers = {}
        for _ in range(TURNS):
            for label, model in (("widemargin", ours), ("scikit-learn", theirs)):
                fit = timed(model.fit, X, y)
                mean = timed(model.predict, new)
                spread = (0.0, 0.0, None)
                if std:
                    spread = timed(model.predict, new[:1000], return_std=True)
                times[label].append((*fit[:2], *mean[:2], *spread[:2]))
                answers[label] = (mean[2], spread[2][1] if std else mean[2])
        rows = {label: [statistics.median(column) for column in zip(*turns)] for label, turns in times.items()}
        print(f"{name}, n = 5,000 x 8")
        for label, row in rows.items():
            fit, mean, spread = (f"{row[k]:.2f} s (CPU {row[k + 1]:.2f})" for k in (0, 2, 4))
            print(f"  {label:<14} fit {fit}   predict 5,000 {mean}" + (f"   std of 1,000 {spread}" if std else ""))
        ours_total, theirs_total = ((sum(row[0::2]), sum(row[1::2])) for row in rows.values())
        wall, cpu = (slow / fast for slow, fast in zip(theirs_total, ours_total))
        print(f"  together: {wall:.1f}x in wall time, {cpu:.1f}x in CPU")
        for what, place in (("means", 0), ("deviations", 1)):
            difference = np.abs(answers["widemargin"][place] - answers["scikit-learn"][place]).max()
            print(f"  largest difference of {what}: {difference:.1e}")
        if name == "KernelRidge":
            print("  " + str(ours.certificate_).replace("\n", "\n  "))


def fitted_parameters(X: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Scale, gamma and noise variance by the likelihood of 1,500 samples."""
    model = GaussianProcessRegressor(1.0 * Gaussian(0.1), noise_variance=0.1).fit(X[:1500], y[:1500])
    return model.kernel_.factor, model.kernel_.kernel.gamma, model.noise_variance_


def by_gpytorch(X, y, new, scale, gamma, noise) -> np.ndarray:
    """Predictive mean by GPyTorch's conjugate gradients."""
    import gpytorch
    import torch

    class Exact(gpytorch.models.ExactGP):
        def __init__(self, x, t, likelihood):
            super().__init__(x, t, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    likelihood = gpytorch.likelihoods.GaussianLikelihood(noise_constraint=gpytorch.constraints.GreaterThan(1e-6))
    x, t = torch.from_numpy(X).float(), torch.from_numpy(y).float()
    model = Exact(x, t, likelihood)
    model.covar_module.outputscale = scale
    model.covar_module.base_kernel.lengthscale = float(np.sqrt(0.5 / gamma))
    likelihood.noise = noise
    model.eval()
    likelihood.eval()
    with torch.no_grad(), gpytorch.settings.max_cholesky_size(0), gpytorch.settings.skip_posterior_variances(True):
        return model(torch.from_numpy(new).float()).mean.numpy()


def beside_gpytorch(folder: Path, samples: int) -> None:
    """Error and time on both sets."""
    for name in FILES:
        X, y = load(folder, name)
        new, truth = X[:HELD_OUT], y[:HELD_OUT]
        X, y = X[HELD_OUT : HELD_OUT + samples], y[HELD_OUT : HELD_OUT + samples]
        scale, gamma, noise = fitted_parameters(X, y)
        print(f"{name}: {len(X):,} samples, scale {scale:.3g}, gamma {gamma:.3g}, noise {noise:.3g}")
        actions = {
            "widemargin, tol 1e-8": partial(by_widemargin, X, y, new, scale, gamma, noise, 1e-8),
            "widemargin, tol 1e-3": partial(by_widemargin, X, y, new, scale, gamma, noise, 1e-3),
            "GPyTorch": partial(by_gpytorch, X, y, new, scale, gamma, noise),
        }
        for label, action in actions.items():
            wall, cpu, mean = timed(action)
            print(f"  {label:<22} {wall:7.1f} s (CPU {cpu:.1f})   rmse {rmse(mean, truth):.5f}", flush=True)


def by_widemargin(X, y, new, scale, gamma, noise, tol) -> np.ndarray:
    """Predictive mean by kernel ridge regression: the same system, and GPyTorch gives no likelihood here either."""
    model = KernelRidge(noise, kernel=scale * Gaussian(gamma), solver="cg", tol=tol).fit(X, y)
    print(f"    {model.n_iter_} steps, error of predictions at most {model.certificate_.error:.1e}")
    return model.predict(new)


def all_of_kin40k(folder: Path, megabytes: float) -> None:
    """All 40,000 samples within a memory budget."""
    X, y = load(folder, "kin40k")
    scale, gamma, noise = fitted_parameters(X, y)
    kernel = scale * Gaussian(gamma)
    print(f"scale {scale:.3g}, gamma {gamma:.3g}, noise {noise:.3g}")
    ridge = KernelRidge(noise, kernel=kernel, cache_size=megabytes, solver="cg", tol=1e-4)
    wall, cpu, model = timed(ridge.fit, X, y)
    print(f"40,000 samples: {wall:.1f} s (CPU {cpu:.1f})")
    print(model.certificate_)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
    print(f"peak memory {peak:.2f} GiB, with {megabytes:g} MB for the matrix", flush=True)
    history = model.certificate_.history
    for step in np.unique(np.geomspace(1, len(history), 8).astype(int)) - 1:
        print(f"  step {step:>4}   {history[step, 0]:.8g} <= y'(K + D)^-1 y <= {history[step, 1]:.8g}")


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[2] not in ("sklearn", "gpytorch", "kin40k"):
        sys.exit(__doc__)
    data, part, number = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]) if len(sys.argv) > 3 else None
    if part == "sklearn":
        beside_sklearn(data)
    elif part == "gpytorch":
        beside_gpytorch(data, int(number or 16_000))
    else:
        all_of_kin40k(data, number or 3150)
