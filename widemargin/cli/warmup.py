"""`widemargin warmup`: compile all functions ahead of time.

Compiled functions are cached on disk, one version for each kind of data. Small problems of every kind of
model, kernel and data are solved here, so that later processes find the functions in the cache.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from widemargin.cli.command import FINE, new_command
from widemargin.cli.screen import Screen, compilations, plural
from widemargin.estimators.registry import LIBSVM_TYPES

LARGE = 2300  # samples: beyond the 2,048 up to which the whole kernel matrix is kept in float64
WIDE = 40  # features: beyond those few whose differences are taken one by one


@new_command("warmup")
def command(options: SimpleNamespace, screen: Screen) -> int:
    """Compile every function now rather than when it is first used.

    Examples
    --------
    widemargin warmup
        Once after an installation or upgrade; for containers, while the image is built.
    """
    from widemargin import _jit

    if _jit.INTERPRETED:
        screen.note("NUMBA_DISABLE_JIT is set: functions run as plain Python, there is nothing to compile.")
        screen.finish(command="warmup", compiled=0)
        return FINE
    began = time.perf_counter()
    _jit.compile_at_once()
    todo = list(tasks())
    with compilations() as compiled, screen.progress("compiling", len(todo)) as steps, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for label, run in todo:
            steps.reach(steps.done, label)
            run()
            steps.advance()
    seconds = time.perf_counter() - began
    what = plural(compiled.count, "function") if compiled.count else "nothing new"
    screen.say(f"compiled {what} in {seconds:.1f} s")
    screen.finish(command="warmup", compiled=compiled.count, seconds=seconds)
    return FINE


def tasks() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Names and functions of small problems that together need every compiled function of the machines."""
    import numpy as np
    from scipy.sparse import csr_matrix

    import widemargin
    from widemargin.cli.machines import fit_or_stop
    from widemargin.io.libsvm_text import matrix_from_text

    rng = np.random.default_rng(0)
    narrow, wide = rng.random((60, 3)), rng.random((60, WIDE))
    bits = (rng.random((60, 70)) < 0.3).astype(float)
    kinds = {
        "few features": narrow,
        "many features": wide,
        "sparse": csr_matrix(np.where(wide < 0.8, 0.0, wide)),
        "bits": bits,
        "sparse bits": csr_matrix(bits),
    }
    labels, classes = np.tile([0, 1], 30), np.tile([0, 1, 2], 20)

    def fit(machine: str, X: Any, y: Any = labels, **parameters: Any) -> Callable[[], Any]:
        return lambda: fit_or_stop(getattr(widemargin, machine)(**parameters), X, y).predict(X)

    yield "LIBSVM text", lambda: matrix_from_text(b"1 1:0.5 3:1e-9\n", "text")
    for kernel in widemargin.kernels.KERNEL_NAMES:
        given = {"matrix": narrow @ narrow.T} if kernel == "precomputed" else kinds
        for words, X in given.items():
            yield f"{kernel}, {words}", fit("SVC", X, kernel=kernel)
    for machine in LIBSVM_TYPES:
        yield machine, fit(machine, narrow)
    for loss in ("squared_hinge", "squared_epsilon_insensitive"):
        yield loss, fit("SVC" if loss == "squared_hinge" else "SVR", narrow, loss=loss)
    yield "three classes", fit("SVC", narrow, classes)
    yield "probabilities", lambda: widemargin.SVC(probability=True).fit(narrow, classes).predict_proba(narrow)
    yield "stopping by gap", fit("SVC", narrow, stopping="gap")
    yield "certificates", lambda: widemargin.verify(widemargin.SVC().fit(narrow, labels), narrow, labels)
    big = rng.random((LARGE, WIDE))
    targets = (big[:, 0] + 0.1 * rng.normal(size=LARGE) > 0.5).astype(int)
    for words, X in (
        ("many features", big),
        ("few features", np.ascontiguousarray(big[:, :3])),
        ("sparse", csr_matrix(np.where(big < 0.8, 0.0, big))),
        ("bits", (big < 0.3).astype(float)),
    ):
        for kernel in ("linear", "rbf", "poly"):
            yield f"{kernel}, {words}, large", fit("SVC", X, targets, kernel=kernel, time_limit=20.0)
