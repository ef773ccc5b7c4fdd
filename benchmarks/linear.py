"""Training of linear machines beside LIBLINEAR (liblinear-official) and scikit-learn, to equal gaps.

    python benchmarks/linear.py DATA_FOLDER [--quick] [--repeats N] [--only NAME ...] [--tables dense text kernel]

Three tables: few features (a9a, w8a, ijcnn1, covtype, an MNIST pair), text (reuters, two newsgroup pairs, 20
newsgroups, news20), and the unpenalised intercept against scikit-learn's SVC(kernel="linear").

What is timed is `fit` of the estimator on CSR data at tol = GAP, and LIBLINEAR's `train` on a problem made beforehand,
so that no conversion counts against it. The gap of every answer is recomputed here in float64: (P(w) - D) / P(w), D the
dual value of a machine trained to 1e-8, a lower bound that all answers share. LIBLINEAR's stop rule is no gap: it is
run with eps = 0.3, 0.1, 0.01, ... and charged only for the first run whose gap is at most GAP; for the squared hinge
with its dual and with its primal solver (-s 1, -s 2), whichever is faster. Where none gets there, scikit-learn's copy
of LIBLINEAR with more iterations is tried, and else the longest run stands as a lower bound (>). The libraries take
turns; times are medians, of the processor (user + system) and of the clock.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.svm

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.peers.datasets import MissingData, load
from widemargin import SVC, LinearSVC

GAP = 1e-4  # relative, at which the methods are compared
FEW_FEATURES = {"a9a": "a9a", "w8a": "w8a", "ijcnn1": "ijcnn1", "covtype": "covtype-all", "mnist 4-9": "mnist-4-9"}
TEXT = {
    "reuters": "reuters",
    "basehock": "basehock",
    "pcmac": "pcmac",
    "20newsgroups": "20newsgroups",
    "news20": "news20",
}
KERNEL = {"a9a": "a9a", "ijcnn1": "ijcnn1", "w8a": "w8a", "mnist 4-9": "mnist-4-9", "reuters": "reuters"}
COSTS = (0.01, 1.0, 100.0)
LOSSES = ("hinge", "squared_hinge")
STEPS = (0.3, 0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6)  # LIBLINEAR's eps, coarse to fine
LONGEST = 10.0  # seconds of processor after which a finer eps is not tried
MANY_PASSES = 20_000  # of scikit-learn's copy, where LIBLINEAR's own limit came first


@dataclass
class Times:
    """Processor and clock seconds of one call, and what it returned."""

    processor: float
    clock: float
    result: Any = None


def timed(action: Callable[[], Any]) -> Times:
    clock, processor = time.perf_counter(), time.process_time()
    result = action()
    return Times(time.process_time() - processor, time.perf_counter() - clock, result)


def primal(X: Any, sign: np.ndarray, C: float, loss: str, weights: np.ndarray) -> float:
    """Objective with penalised bias, weights of shape (d + 1,)."""
    slack = np.maximum(0.0, 1.0 - sign * (X @ weights[:-1] + weights[-1]))
    return 0.5 * float(weights @ weights) + C * float((slack**2 if loss == "squared_hinge" else slack).sum())


def total_primal(X: Any, y: np.ndarray, C: float, loss: str, weights: np.ndarray) -> float:
    """Sum over the machines one against rest; two classes have one machine."""
    classes = np.unique(y)
    positive = classes[1:] if len(classes) == 2 else classes
    return sum(primal(X, np.where(y == k, 1.0, -1.0), C, loss, w) for k, w in zip(positive, weights, strict=True))


def weights_of(machine: Any) -> np.ndarray:
    return np.hstack([machine.coef_, np.reshape(machine.intercept_, (-1, 1))])


class Liblinear:
    """liblinear-official, called so that conversion is not timed."""

    def __init__(self, X: Any, y: np.ndarray) -> None:
        from liblinear.liblinear import problem

        self.problem, self.classes, self.d = problem(y, X, bias=1), np.unique(y), X.shape[1]

    def train(self, C: float, solver: int, eps: float) -> Times:
        from liblinear.liblinear import parameter
        from liblinear.liblinearutil import train

        options = parameter(f"-s {solver} -c {C} -e {eps} -B 1 -q")
        return timed(lambda: train(self.problem, options))

    def weights(self, model: Any) -> np.ndarray:
        n = len(self.classes)
        labels = model.get_labels()
        if n == 2:
            w = np.ctypeslib.as_array(model.w, (self.d + 1,)).copy()
            return (w if labels[0] == self.classes[1] else -w)[None]
        w = np.ctypeslib.as_array(model.w, ((self.d + 1) * n,)).reshape(self.d + 1, n).T
        return w[[labels.index(int(k)) for k in self.classes]].copy()


def liblinear_run(X: Any, y: np.ndarray, C: float, loss: str, lower: float) -> tuple[Callable[[], Times], float, str]:
    """The cheapest run of LIBLINEAR that meets the gap: how to repeat it, its gap, and a word about it."""
    machine = Liblinear(X, y)
    found: list[tuple[float, Callable[[], Times], float, str]] = []
    longest: tuple[float, Callable[[], Times], float, str] | None = None
    for solver in (1, 2) if loss == "squared_hinge" else (3,):
        for eps in STEPS:
            run = machine.train(C, solver, eps)
            value = total_primal(X, y, C, loss, machine.weights(run.result))
            gap = (value - lower) / value
            entry = (run.processor, lambda s=solver, e=eps: machine.train(C, s, e), gap, f"-s {solver} -e {eps:g}")
            if gap <= GAP:
                found.append(entry)
                break
            if longest is None or run.processor > longest[0]:
                longest = entry
            if run.processor > LONGEST:
                break
    if not found and longest is not None and longest[0] <= LONGEST:
        theirs = sklearn.svm.LinearSVC(loss=loss, C=C, dual=True, tol=1e-5, max_iter=MANY_PASSES)
        run = timed(lambda: theirs.fit(X, y))
        value = total_primal(X, y, C, loss, weights_of(theirs))
        entry = (
            run.processor,
            lambda: timed(lambda: theirs.fit(X, y)),
            (value - lower) / value,
            "sklearn, more passes",
        )
        if entry[2] <= GAP:
            found.append(entry)
        elif run.processor > longest[0]:
            longest = entry
    if found:
        return min(found)[1:]
    assert longest is not None
    return longest[1], longest[2], longest[3] + " (never gets there)"


def compare(name: str, X: Any, y: np.ndarray, repeats: int) -> list[float]:
    """Rows of one data set; returns the ratios of processor time."""
    ratios = []
    for C in COSTS:
        for loss in LOSSES:
            make = lambda tol, C=C, loss=loss: LinearSVC(loss=loss, C=C, tol=tol)  # noqa: E731
            lower = sum(part.dual for part in make(1e-8).fit(X, y).certificates_)
            theirs, their_gap, how = liblinear_run(X, y, C, loss, lower)
            runs: dict[str, list[Times]] = {"ours": [], "theirs": []}
            for _ in range(repeats):
                runs["ours"].append(timed(lambda: make(GAP).fit(X, y)))  # noqa: B023
                runs["theirs"].append(theirs())
                if sum(run.clock for both in runs.values() for run in both) > 60.0:
                    break
            ours = {
                kind: statistics.median(getattr(run, kind) for run in runs["ours"]) for kind in ("processor", "clock")
            }
            other = {
                kind: statistics.median(getattr(run, kind) for run in runs["theirs"]) for kind in ("processor", "clock")
            }
            model = runs["ours"][-1].result
            value = total_primal(X, y, C, loss, weights_of(model))
            ratio = other["processor"] / ours["processor"]
            ratios.append(ratio)
            mark = ">" if their_gap > GAP else ""
            print(
                f"| {name} | {loss} | {C:g} | {1e3 * ours['processor']:.1f} | {1e3 * other['processor']:.1f} "
                f"| {mark}{ratio:.2f} | {mark}{other['clock'] / ours['clock']:.2f} | {(value - lower) / value:.1e} "
                f"| {their_gap:.1e} | {how} |",
                flush=True,
            )
    return ratios


def compare_kernel(name: str, X: Any, y: np.ndarray, patience: float) -> float | None:
    """LinearSVC with unpenalised intercept and SVC(kernel="linear") beside scikit-learn's SVC(kernel="linear")."""
    best = min(
        (timed(lambda: LinearSVC(loss="hinge", penalize_intercept=False).fit(X, y)) for _ in range(3)), key=_cost
    )
    own = min((timed(lambda: SVC(kernel="linear").fit(X, y)) for _ in range(3)), key=_cost)
    n, size = X.shape[0], X.shape[0]
    while own.processor * (size / n) ** 2 * 200.0 > patience and size > 5000:  # SMO grows at least with the square
        size //= 2
    rows = np.random.default_rng(0).permutation(n)[:size]
    if size < n:
        X, y = X[rows], y[rows]
        best = timed(lambda: LinearSVC(loss="hinge", penalize_intercept=False).fit(X, y))
        own = timed(lambda: SVC(kernel="linear").fit(X, y))
    theirs = timed(lambda: sklearn.svm.SVC(kernel="linear", cache_size=1000).fit(X, y))
    print(
        f"| {name} | {size} | {1e3 * best.processor:.1f} | {1e3 * own.processor:.1f} | {1e3 * theirs.processor:.0f} "
        f"| {theirs.processor / best.processor:.1f} | {theirs.processor / own.processor:.1f} "
        f"| {best.result.certificate_.gap:.1e} | {own.result.certificate_.violation:.1e} |",
        flush=True,
    )
    return theirs.processor / best.processor


def _cost(run: Times) -> float:
    return run.processor


def read(source: str, folder: Path, quick: bool) -> tuple[Any, np.ndarray]:
    """CSR data and labels; --quick takes at most 4000 samples."""
    if source == "news20":
        from widemargin.io import read_libsvm

        X, y = read_libsvm(next(folder.glob("news20/news20.t*")))
    else:
        X, y = load(source, folder)
    X = sp.csr_matrix(X)
    if quick and len(y) > 4000:
        rows = np.sort(np.random.default_rng(0).permutation(len(y))[:4000])
        X, y = X[rows], y[rows]
    return X, y


def geometric_mean(ratios: list[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios)))) if ratios else float("nan")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true", help="at most 4000 samples of each set")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="*", help="names of sets")
    parser.add_argument("--tables", nargs="*", default=["dense", "text", "kernel"], choices=["dense", "text", "kernel"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # LIBLINEAR that does not get there is part of what is measured
    header = "| data | loss | C | ours ms | LIBLINEAR ms | x (processor) | x (clock) | gap ours | gap LIBLINEAR | run |"
    for table, sets in (("dense", FEW_FEATURES), ("text", TEXT), ("kernel", KERNEL)):
        if table not in options.tables:
            continue
        if table == "kernel":
            print("\n| data | n | LinearSVC ms | our SVC ms | sklearn SVC ms | x LinearSVC | x SVC | gap | violation |")
            print("|---|---|---|---|---|---|---|---|---|")
        else:
            print(f"\n{header}\n|---|---|---|---|---|---|---|---|---|---|")
        ratios: list[float] = []
        for name, source in sets.items():
            if options.only and name not in options.only:
                continue
            try:
                X, y = read(source, options.folder, options.quick)
            except (MissingData, StopIteration):
                print(f"| {name} | left out: its file is not in the folder |")
                continue
            LinearSVC(loss="hinge").fit(X[:50], np.arange(50) % 2)  # compiles
            if table == "kernel":
                ratio = compare_kernel(name, X, y, 60.0 if options.quick else 600.0)
                ratios += [] if ratio is None else [ratio]
            else:
                ratios += compare(name, X, y, options.repeats)
        print(f"geometric mean: {geometric_mean(ratios):.2f}x", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
