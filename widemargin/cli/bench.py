"""`widemargin bench`: fit and predict beside scikit-learn on the user's own file, every answer certified.

Their fits alternate, so that a busy moment affects both; figures are medians. Functions are compiled beforehand.
scikit-learn gets the same data, parameters and tolerance, and 2000 MB of cache instead of its 200.
"""

from __future__ import annotations

import statistics
import time
from types import SimpleNamespace
from typing import Any

import click

from widemargin.cli.command import FINE, new_command, option
from widemargin.cli.options import KERNELS, Whole, data_options, machine_options
from widemargin.cli.paths import FILE
from widemargin.cli.screen import Screen

THEIR_CACHE = 2000  # megabytes; the default of 200 would slow scikit-learn down


@new_command("bench")
@click.argument("data", type=FILE, metavar="FILE")
@option("--samples", type=Whole(2), default="5000", metavar="N", help="Samples at most, drawn at random.  [5000]")
@option("--repeats", type=Whole(1), default="3", metavar="N", help="Runs of each, taking turns.  [3]")
@machine_options
@data_options
def command(options: SimpleNamespace, screen: Screen) -> int:
    """Fit and predict beside scikit-learn on FILE: times, accuracy, certificates.

    Examples
    --------
    widemargin bench a9a
        On at most 5,000 samples, three times each.
    widemargin bench a9a --samples 20000 -c 10 -g 0.05
        Larger; nothing stops scikit-learn once it has begun.
    """
    from sklearn.base import clone

    from widemargin import _jit
    from widemargin.cli.data import read_training
    from widemargin.cli.machines import prepared_machine

    if options.kernel not in KERNELS or options.loss != "linear":
        raise ValueError("scikit-learn has no such model to compare with: choose a kernel of LIBSVM, linear loss.")
    data = read_training(options, screen)
    model, y = prepared_machine(options, data)
    X, y = _drawn(model, data.X, y, options.samples)
    machines = {"widemargin": model, "scikit-learn": _theirs(model)}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in machines}
    _jit.compile_at_once()  # first fits would interpret some functions, and compile them while the clock runs
    with screen.progress("bench", len(machines) * options.repeats + 1) as steps:
        _timed_run(clone(model), X, y)  # functions are compiled
        steps.advance()
        for name in list(machines) * options.repeats:
            machines[name] = clone(machines[name])  # without attributes of an earlier fit
            times[name].append(_timed_run(machines[name], X, y))
            steps.advance(label=name)
    facts = {name: _facts(machine, times[name], X, y) for name, machine in machines.items()}
    _show(screen, facts, X)
    screen.finish(command="bench", data=options.data, samples=X.shape[0], features=X.shape[1], results=facts)
    return FINE


def _theirs(model: Any) -> Any:
    """Return scikit-learn's estimator with the parameters of ours that it has."""
    import sklearn.svm

    from widemargin.io.sklearn_models import counterpart

    return counterpart(model, getattr(sklearn.svm, type(model).__name__), cache_size=THEIR_CACHE)


def _drawn(model: Any, X: Any, y: Any, most: int) -> tuple[Any, Any]:
    """Return at most `most` samples, drawn with a fixed seed."""
    import numpy as np

    from widemargin._sklearn import safe_split

    if X.shape[0] <= most:
        return X, y
    rows = np.sort(np.random.default_rng(0).permutation(X.shape[0])[:most])
    return safe_split(model, X, y, rows)


def _timed_run(machine: Any, X: Any, y: Any) -> tuple[float, float]:
    """Return the seconds of a fit and of predicting the same samples."""
    from widemargin.cli.machines import fit_or_stop

    began = time.perf_counter()
    fit_or_stop(machine, X, y)  # an early end shows in the certificate
    fitted = time.perf_counter()
    machine.predict(X)
    return fitted - began, time.perf_counter() - fitted


def _facts(machine: Any, times: list[tuple[float, float]], X: Any, y: Any) -> dict[str, Any]:
    """Return medians, agreement with the labels, and the certificate, recomputed for both."""
    import widemargin

    fit, predict = (statistics.median(column) for column in zip(*times))
    certificate = widemargin.verify(machine, X, y)
    return {
        "fit_seconds": fit,
        "predict_seconds": predict,
        "score": None if y is None else machine.score(X, y),
        **{name: getattr(certificate, name) for name in ("violation", "gap", "holds")},
        "n_support": len(machine.support_),
    }


def _show(screen: Screen, facts: dict[str, dict[str, Any]], X: Any) -> None:
    """Print both side by side."""
    from rich.table import Table

    ours, theirs = facts["widemargin"], facts["scikit-learn"]
    table = Table(title=f"{X.shape[0]:,} samples, {X.shape[1]:,} features", title_justify="left")
    for heading in ("", "widemargin", "scikit-learn", "ratio"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, words in (("fit_seconds", "fit, s"), ("predict_seconds", "predict, s")):
        table.add_row(words, f"{ours[name]:.4f}", f"{theirs[name]:.4f}", f"{theirs[name] / ours[name]:.1f}x")
    if ours["score"] is not None:
        table.add_row("score on these samples", f"{ours['score']:.4f}", f"{theirs['score']:.4f}", "")
    for name, words in (("violation", "largest violation"), ("gap", "relative gap")):
        table.add_row(words, f"{ours[name]:.1e}", f"{theirs[name]:.1e}", "")
    table.add_row("certificate", *("holds" if one["holds"] else "does not hold" for one in (ours, theirs)), "")
    screen.show(table)
