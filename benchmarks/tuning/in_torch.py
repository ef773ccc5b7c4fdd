"""TorchKM on one data set, run by the Python that has it; needs torch, torchkm and NumPy, nothing of this project.

    PYTHON in_torch.py GIVEN.npz ANSWER.npz MAX_ITER THREADS    time its search, and write its best model
    PYTHON in_torch.py --check                                  compare its generator with mixture.py, which is beside

Prints one line of JSON. The kernel matrix is timed apart from the search, as TorchKM's paper does.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
import warnings

import numpy as np
import torch
from torchkm.cvksvm import cvksvm
from torchkm.functions import data_gen, rbf_kernel


def search(given: str, answer: str, max_iter: int, threads: int) -> dict[str, object]:
    """Its cross-validated path with the options of its examples."""
    torch.set_num_threads(threads)
    with np.load(given) as file:
        X, y, fold, C, gamma = (file[name] for name in ("X", "y", "fold", "C", "gamma"))
    n = len(y)
    began = time.perf_counter()
    K = rbf_kernel(torch.as_tensor(X, dtype=torch.double), float(gamma) / 2.0)
    kernel = time.perf_counter() - began
    labels, cpu, began = torch.as_tensor(y), time.process_time(), time.perf_counter()
    model = cvksvm(
        Kmat=K,
        y=labels,
        nlam=len(C),
        ulam=torch.as_tensor(1.0 / (2.0 * n * C)),
        foldid=torch.as_tensor(fold + 1),
        nfolds=int(fold.max()) + 1,
        eps=1e-5,
        maxit=max_iter,
        gamma=1e-8,
        is_exact=0,
        device="cpu",
    )
    with contextlib.redirect_stdout(io.StringIO()):
        model.fit()
    errors = model.cv(model.pred, labels).numpy()
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    best = int(np.argmin(errors))
    alpha = model.alpmat[:, best].numpy()
    np.savez(answer, support=np.arange(n), beta=alpha[1:], bias=alpha[:1])
    return {
        "wall": wall,
        "cpu": cpu,
        "kernel": kernel,
        "best": {"C": float(C[best])},
        "score": 1.0 - float(errors[best]),
        "scores": (1.0 - errors).tolist(),
        "converged": int(model.converged.sum()),
        "note": f"{int(model.converged.sum())} of {len(C)} values of C converged by its own test",
    }


def check(n: int = 200_000, p: int = 10, seed: int = 0) -> dict[str, float]:
    """Both generators about the same centres: differences of class shares, means and covariances, in standard errors.

    Of some hundred standard normal numbers the largest is about 3; 5 would be a difference.
    """
    from mixture import DEVIATION, PER_CLASS, SHIFT, centres, draw

    rng = np.random.default_rng(seed)
    means = centres(p, rng)
    torch.manual_seed(seed)
    shape = (PER_CLASS, p, p // 2, p // 2, SHIFT, DEVIATION)
    theirs, their_y, _ = data_gen(n, *shape, means=torch.as_tensor(means, dtype=torch.float32))
    samples = [(theirs.double().numpy(), their_y.numpy()), draw(n, means, rng)]
    shares = [np.mean(y > 0) for _, y in samples]
    found = {"share": abs(shares[0] - shares[1]) / np.sqrt(0.5 / n)}
    for label in (-1.0, 1.0):
        parts = [X[y == label] for X, y in samples]
        for power, name in ((1, "mean"), (2, "square")):
            moments = [part**power for part in parts]
            error = np.sqrt(sum(m.var(axis=0) / len(m) for m in moments))
            worst = np.abs(moments[0].mean(axis=0) - moments[1].mean(axis=0)) / error
            found[f"{name} {label:+.0f}"] = float(worst.max())
        products = [np.einsum("ni,nj->nij", part, part).reshape(len(part), -1) for part in parts]
        error = np.sqrt(sum(m.var(axis=0) / len(m) for m in products))
        worst = np.abs(products[0].mean(axis=0) - products[1].mean(axis=0)) / error
        found[f"products {label:+.0f}"] = float(worst.max())
    seeded = np.stack([data_gen(10, *shape, sdn=s)[2].numpy() for s in range(5000)])
    ours = np.stack([centres(p, np.random.default_rng(s)) for s in range(5000)])
    error = np.sqrt((seeded.var(axis=0) + ours.var(axis=0)) / 5000)
    found["centres"] = float((np.abs(seeded.mean(axis=0) - ours.mean(axis=0)) / error).max())
    found["variance of centres"] = float(np.abs(seeded.var(axis=0) / ours.var(axis=0) - 1).max() / np.sqrt(4 / 5000))
    return {name: round(float(value), 2) for name, value in found.items()}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:] == ["--check"]:
        print(json.dumps(check()))
    else:
        print(json.dumps(search(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
