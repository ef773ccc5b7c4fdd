"""From data and a kernel to certified answers: prepare -> Gram -> solve -> certify -> go on if the certificate fails.

`Training` holds what the problems of one fit share (prepared samples, Gram, threads). Each `Task` is one signed dual on
some of the samples: one for a binary machine or a regression, one per pair or per class for many classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.certificate import Certificate
from widemargin.kernels.kernel import Kernel
from widemargin.problems.dual import SignedDual
from widemargin.solvers.solution import Solution
from widemargin.stopping import Stopping

Watch = Callable[[dict[str, Any]], None]


@dataclass
class Task:
    """One problem of a fit. `index` are the samples it is about (None: all, in order); `start` a feasible beta."""

    dual: SignedDual
    index: NDArray[np.int64] | None = None
    start: NDArray[np.float64] | None = None


@dataclass
class Trained:
    """The solution of a task and its certificate."""

    solution: Solution
    certificate: Certificate


class Training:
    """What the problems of one fit share.

    Parameters
    ----------
    kernel : Kernel
    X : raw training data, anything `kernel.prepare` takes
    cache_size : float or None
        Megabytes for rows of the kernel matrix; None takes a share of the free memory.
    n_jobs : int or None
        Threads; None means all cores.
    solver : str
        "auto" (the fast block solver) or the name of another solver.
    """

    def __init__(
        self, kernel: Kernel, X: Any, *, cache_size: float | None = None, n_jobs: int | None = None, solver: str = "auto"
    ) -> None:
        raise NotImplementedError

    def train(self, tasks: Sequence[Task], stopping: Stopping, watch: Watch | None = None) -> list[Trained]:
        """Solve every task to the stop rule and certify each answer."""
        raise NotImplementedError
