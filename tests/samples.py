"""Problems that several tests use, drawn from the generator they give. Fixtures are in `conftest.py`."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tests.oracles import MACHINES, noisy_scores, signs
from widemargin.gram.class_pair import ClassRows
from widemargin.kernels.kernel import Kernel
from widemargin.monitor.stopping import Stopping
from widemargin.problems import hinge
from widemargin.problems.dual import SignedDual
from widemargin.training.fit import Training
from widemargin.training.task import Task, Trained


def overlapping(n: int, rng: np.random.Generator, C: float = 1.0, d: int = 3) -> tuple[NDArray, SignedDual]:
    """Two classes with some overlap, and the problem of a machine with hinge loss on them."""
    X = rng.normal(size=(n, d))
    return X, hinge(signs(noisy_scores(X, rng)), np.full(n, C))


def problem_of(
    machine: str, n: int, rng: np.random.Generator, weight: float = 1.0, d: int = 3
) -> tuple[NDArray, SignedDual]:
    """Samples, and the problem of one of `oracles.MACHINES` on a target that depends on them, with noise."""
    X = rng.normal(size=(n, d))
    return X, MACHINES[machine](noisy_scores(X, rng), np.full(n, weight))


def rows_of_two(kernel: Kernel, X: Any, first: int, dtype: DTypeLike) -> list[ClassRows]:
    """What a pair of classes is made of; the first class are the first samples."""
    samples = kernel.prepare(X, dtype)
    arrange, errors = kernel.fused_layout(samples)
    parts = np.split(np.arange(len(samples)), [first])
    return [ClassRows(kernel, samples.take(part), np.dtype(dtype), arrange, errors.take(part)) for part in parts]


def train_one(kernel: Kernel, X: Any, dual: SignedDual, watch: Any = None, **rule: Any) -> Trained:
    """One problem, solved and certified on one thread; `rule` are the fields of `Stopping`."""
    return Training(kernel, X, n_jobs=1).train([Task(dual)], Stopping(**rule), watch=watch)[0]
