"""`widemargin warmup`: compile all functions ahead of time.

Compiled functions are cached on disk, one version for each kind of data. Small problems of every kind of model, kernel
and data are solved here by as many processes as there are cores, so that later processes find everything in the cache.
"""

from __future__ import annotations

import functools
import os
import time
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from widemargin.cli.command import FINE, new_command
from widemargin.cli.screen import Screen, compilations, plural

#: Samples: for each regime of a fit (docs/decisions/0012-two-regimes.md), the last beyond the 2,048 up to which the
#: whole kernel matrix is kept in float64, the one before such that pairs of classes evaluate rows when needed.
SIZES = (60, 600, 1800, 2300)
CLASSES = 10
KINDS = ("few features", "many features", "sparse", "bits", "sparse bits")
OFTEN = ("rbf", "poly", "laplacian", "sigmoid")  # kernels for which every size is tried
WIDE = 40  # features: beyond those few whose differences are taken one by one
LINEAR: tuple[tuple[str, dict[str, Any]], ...] = (
    ("LinearSVC", {}),
    ("LinearSVC", {"penalty": "l1", "dual": False}),
    ("LinearSVC", {"loss": "hinge"}),
    ("LinearSVC", {"multi_class": "crammer_singer", "max_iter": 20}),
    ("LinearSVR", {"loss": "squared_epsilon_insensitive"}),
    ("SVC", {"kernel": "linear"}),
    ("SVR", {"kernel": "linear"}),
)
SLOW = (
    "RVC",
    "RVR",
    "GaussianProcessRegressor",
    "KernelLMS",
    "SVCCV",
    "SVRCV",
)  # estimators that one size is enough for
MOST_PROCESSES = 8  # each takes a second to start and 200 MB


@new_command("warmup")
def command(options: SimpleNamespace, screen: Screen) -> int:
    """Compile every function now rather than when it is first used.

    Examples
    --------
    widemargin warmup
        Once after an installation or upgrade; for containers, while the image is built. What root compiles is read by
        all users.
    """
    import joblib

    from widemargin import _jit
    from widemargin.parallel.tiles import available_cores

    if _jit.INTERPRETED:
        screen.note("NUMBA_DISABLE_JIT is set: functions run as plain Python, there is nothing to compile.")
        screen.finish(command="warmup", compiled=0)
        return FINE
    began = time.perf_counter()
    cores = available_cores()
    n_compiled, n_tasks = 0, len(tasks())
    screen.say(f"compiling on {plural(min(cores, MOST_PROCESSES), 'core')}; a minute or two if nothing is compiled yet")
    with (
        screen.progress("compiling", n_tasks) as steps,
        joblib.parallel_config("loky", n_jobs=min(cores, MOST_PROCESSES), inner_max_num_threads=cores),
    ):
        todo = (joblib.delayed(run_task)(number) for number in range(n_tasks))
        for label, count in joblib.Parallel(return_as="generator_unordered", batch_size=1)(todo):
            n_compiled += count
            steps.advance(label=label)
    seconds = time.perf_counter() - began
    what = plural(n_compiled, "function") if n_compiled else "nothing new"
    screen.say(f"compiled {what} in {seconds:.1f} s")
    screen.finish(command="warmup", compiled=n_compiled, seconds=seconds)
    return FINE


def run_task(number: int) -> tuple[str, int]:
    """Run one of the tasks in this process; return its label and how many functions were compiled."""
    from widemargin import _jit

    if hasattr(os, "geteuid") and os.geteuid() == 0:
        os.umask(0o022)  # so that every user of the machine or image can read what root compiles
    _jit.compile_at_once()
    label, run = tasks()[number]
    with compilations() as compiled, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run()
    return label, compiled.count


@functools.cache
def tasks() -> list[tuple[str, Callable[[], Any]]]:
    """Return labels and functions of small problems that together need every compiled function of the estimators."""
    return list(_tasks())


def _tasks() -> Iterator[tuple[str, Callable[[], Any]]]:
    import widemargin
    from widemargin.estimators.registry import ESTIMATORS
    from widemargin.io.libsvm_text import matrix_from_text
    from widemargin.kernels import KERNEL_NAMES, Gaussian

    def fit(estimator: str, kind: str, size: int, n_classes: int = 2, **parameters: Any) -> tuple[str, Callable]:
        def run() -> None:
            X, y = samples(kind, size, n_classes)
            model = getattr(widemargin, estimator)(**parameters)
            model.fit(X, y).predict(X)
            model.predict(X[:1])
            if parameters.get("probability"):
                model.predict_proba(X)
            if estimator == "SVC":
                widemargin.verify(model, X, y)

        return f"{estimator}, {parameters.get('kernel', kind)}", run

    yield "LIBSVM text", lambda: matrix_from_text(b"1 1:0.5 3:1e-9\n", "text")
    for size in SIZES:
        for kind in KINDS:
            for n_classes in (2, CLASSES):
                for kernel in KERNEL_NAMES:
                    if kernel in OFTEN or (kernel != "precomputed" and size == SIZES[0]):
                        yield fit("SVC", kind, size, n_classes, kernel=kernel)
                for estimator, parameters in LINEAR:
                    if kind != "bits" and size in (SIZES[0], SIZES[-1]):
                        yield fit(estimator, kind, size, n_classes, **parameters)
    for parameters in ({"loss": "squared_hinge"}, {"C": float("inf")}, {"probability": True}, {"stopping": "gap"}):
        yield fit("SVC", "few features", SIZES[0], CLASSES, **parameters)
    yield fit("SVC", "matrix", SIZES[0], kernel="precomputed")
    for estimator in ESTIMATORS:
        given: dict[str, Any] = {"kernel": 1.0 * Gaussian(1.0)} if estimator == "GaussianProcessRegressor" else {}
        if estimator in ("SVCCV", "SVRCV"):  # one cell needs all functions
            given = {"Cs": [1.0], "gammas": [1.0], "cv": 2}
        for size in SIZES[:1] if estimator in SLOW else SIZES:
            yield fit(estimator, "few features", size, CLASSES, **given)
            yield fit(estimator, "sparse", size, **given)


@functools.cache
def samples(kind: str, size: int, n_classes: int) -> tuple[Any, Any]:
    """Return samples in one of the representations, and labels that are easy to learn."""
    import numpy as np
    from scipy.sparse import csr_matrix, random

    rng = np.random.default_rng(0)
    if kind == "sparse":
        X = random(size, 2 * SIZES[-1], 0.01, "csr", random_state=0)
    elif "bits" in kind:
        X = (rng.random((size, 2 * WIDE)) < 0.3).astype(float)
    else:
        X = rng.random((size, WIDE if kind == "many features" else 3))
    place = np.argsort(np.argsort(np.asarray(X[:, :8].sum(axis=1)).ravel()))
    if kind == "matrix":
        X = X @ X.T
    return csr_matrix(X) if kind == "sparse bits" else X, place * n_classes // size
