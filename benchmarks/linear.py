"""Training of linear machines beside LIBLINEAR (liblinear-official) and scikit-learn, to equal gaps.

    python -m benchmarks.linear DATA_FOLDER [--quick] [--repeats N] [--only NAME ...] [--tables dense text kernel]
                                            [--record FILE]

Three tables: few features (a9a, w8a, ijcnn1, covtype, an MNIST pair), text (reuters, two newsgroup pairs, 20
newsgroups, news20), and the unpenalised intercept against scikit-learn's SVC(kernel="linear").

What is timed is `fit` of the estimator on CSR data at tol = GAP, and LIBLINEAR's `train` on a problem made beforehand,
so that no conversion counts against it. The gap of every answer is recomputed here in float64: (P(w) - D) / P(w), D the
dual value of a machine trained to 1e-8, a lower bound that all answers share. Our machines must prove their gap with a
dual point of their own, for each class; LIBLINEAR has no certificate, and only its weights are judged. Its stop rule is
no gap: it is run with eps = 0.3, 0.1, 0.01, ... and charged only for the first run whose gap is at most GAP, which
nobody could know in advance; for the squared hinge with its dual and with its primal solver (-s 1, -s 2), whichever is
faster. Where none gets there before its limit of passes, scikit-learn's copy of LIBLINEAR with more passes is tried in
the same way, and else the longest run stands as a lower bound (>).

Both sides have one thread (n_jobs=1; LIBLINEAR has no other), so that processor time compares. The libraries take
turns; times are medians, of the processor (user + system) and of the clock. --record keeps what LIBLINEAR needed for
each cell and the rows of the tables: cells found there are not tuned or measured again.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.svm

from benchmarks.peers.datasets import MissingData, load
from benchmarks.timing import Timed, timed
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
LONGEST = 10.0  # seconds of processor after which a finer eps is not tried, nor a run repeated
TURNS = 20.0  # seconds of both libraries together after which they take no further turn
MOST_FOR_SMO = 20_000  # samples of the third table: scikit-learn's SVC grows with their square at least
MANY_PASSES = 20_000  # of scikit-learn's copy, where LIBLINEAR's own limit came first


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

    def train(self, C: float, solver: int, eps: float) -> Timed:
        from liblinear.liblinear import parameter
        from liblinear.liblinearutil import train

        options = parameter(f"-s {solver} -c {C} -e {eps} -B 1 -q")
        return timed(train, self.problem, options)

    def weights(self, model: Any) -> np.ndarray:
        n = len(self.classes)
        labels = model.get_labels()
        if n == 2:
            w = np.ctypeslib.as_array(model.w, (self.d + 1,)).copy()
            return (w if labels[0] == self.classes[1] else -w)[None]
        w = np.ctypeslib.as_array(model.w, ((self.d + 1) * n,)).reshape(self.d + 1, n).T
        return w[[labels.index(int(k)) for k in self.classes]].copy()


@dataclass
class Tuned:
    """A run of LIBLINEAR: solver (0: scikit-learn's copy with more passes), eps, its gap and processor seconds."""

    solver: int
    eps: float
    gap: float
    processor: float

    def __str__(self) -> str:
        how = f"-s {self.solver} -e {self.eps:g}" if self.solver else f"scikit-learn tol={self.eps:g}"
        return how if self.gap <= GAP else how + " (not reached)"


def run_liblinear(
    machine: Liblinear, data: tuple[Any, np.ndarray], C: float, loss: str, solver: int, eps: float
) -> Any:
    """One run, as a function that gives its times, and weights as the result."""
    if solver:
        run = machine.train(C, solver, eps)
        return run._replace(result=machine.weights(run.result))
    theirs = sklearn.svm.LinearSVC(loss=loss, C=C, dual=True, tol=eps, max_iter=MANY_PASSES)
    run = timed(theirs.fit, *data)
    return run._replace(result=weights_of(theirs))


def tune(machine: Liblinear, X: Any, y: np.ndarray, C: float, loss: str, lower: float) -> Tuned:
    """The cheapest run of LIBLINEAR that meets the gap, or the longest if none does."""
    runs: list[Tuned] = []
    for solver in ((1, 2) if loss == "squared_hinge" else (3,)) + (0,):
        if solver == 0 and (any(run.gap <= GAP for run in runs) or max(run.processor for run in runs) > LONGEST):
            break
        for eps in STEPS:
            run = run_liblinear(machine, (X, y), C, loss, solver, eps)
            value = total_primal(X, y, C, loss, run.result)
            runs.append(Tuned(solver, eps, (value - lower) / value, run.cpu))
            if runs[-1].gap <= GAP or run.cpu > LONGEST:
                break
    enough = [run for run in runs if run.gap <= GAP]
    seconds = attrgetter("processor")
    return min(enough, key=seconds) if enough else max(runs, key=seconds)


def compare(name: str, X: Any, y: np.ndarray, repeats: int, record: dict[str, Any], save: Callable[[], None]) -> list:
    """Rows of one data set; returns the ratios of processor time."""
    ratios = []
    machine = Liblinear(X, y)
    for C in COSTS:
        for loss in LOSSES:
            key = f"{name}|{loss}|{C:g}"
            cell = record.setdefault(key, {})
            ours = lambda tol, C=C, loss=loss: LinearSVC(loss=loss, C=C, tol=tol, n_jobs=1).fit(X, y)  # noqa: E731
            if "lower" not in cell:
                cell["lower"] = sum(part.dual for part in ours(1e-8).certificates_)
            lower = cell["lower"]
            if "tuned" not in cell:
                cell["tuned"] = vars(tune(machine, X, y, C, loss, lower))
                save()
            tuned = Tuned(**cell["tuned"])
            if "row" not in cell:
                runs: dict[str, list[Timed]] = {"ours": [], "theirs": []}
                ours(GAP)
                while len(runs["ours"]) < repeats and sum(r.wall for both in runs.values() for r in both) < TURNS:
                    runs["ours"].append(timed(ours, GAP))
                    if tuned.processor <= LONGEST:
                        runs["theirs"].append(run_liblinear(machine, (X, y), C, loss, tuned.solver, tuned.eps))
                runs["theirs"] = runs["theirs"] or [Timed(tuned.processor, tuned.processor, None)]
                mine, other = (
                    {kind: statistics.median(getattr(run, kind) for run in runs[who]) for kind in ("cpu", "wall")}
                    for who in ("ours", "theirs")
                )
                value = total_primal(X, y, C, loss, weights_of(runs["ours"][-1].result))
                cell["ratio"], mark = other["cpu"] / mine["cpu"], "" if tuned.gap <= GAP else ">"
                cell["row"] = (
                    f"| {name} | {loss} | {C:g} | {1e3 * mine['cpu']:.1f} | {1e3 * other['cpu']:.1f} "
                    f"| {mark}{cell['ratio']:.2f} | {mark}{other['wall'] / mine['wall']:.2f} "
                    f"| {(value - lower) / value:.1e} | {tuned.gap:.1e} | {tuned} |"
                )
                save()
            print(cell["row"], flush=True)
            ratios.append(cell["ratio"])
    return ratios


def compare_kernel(name: str, X: Any, y: np.ndarray) -> float:
    """LinearSVC with unpenalised intercept and SVC(kernel="linear") beside scikit-learn's SVC(kernel="linear")."""
    size = min(X.shape[0], MOST_FOR_SMO)
    if size < X.shape[0]:
        rows = np.sort(np.random.default_rng(0).permutation(X.shape[0])[:size])
        X, y = X[rows], y[rows]
    machines = (LinearSVC(loss="hinge", penalize_intercept=False, n_jobs=1), SVC(kernel="linear", n_jobs=1))
    best, own = (min((timed(machine.fit, X, y) for _ in range(4)), key=attrgetter("cpu")) for machine in machines)
    theirs = timed(sklearn.svm.SVC(kernel="linear", cache_size=1000).fit, X, y)
    print(
        f"| {name} | {size} | {1e3 * best.cpu:.1f} | {1e3 * own.cpu:.1f} | {1e3 * theirs.cpu:.0f} "
        f"| {theirs.cpu / best.cpu:.1f} | {theirs.cpu / own.cpu:.1f} "
        f"| {best.result.certificate_.gap:.1e} | {own.result.certificate_.violation:.1e} |",
        flush=True,
    )
    return theirs.cpu / own.cpu


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
    parser.add_argument("--record", type=Path, help="JSON file of cells tuned and measured before")
    options = parser.parse_args()
    record = json.loads(options.record.read_text()) if options.record and options.record.exists() else {}

    def save() -> None:
        if options.record:
            options.record.write_text(json.dumps(record, indent=1))

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
                ratios.append(compare_kernel(name, X, y))
            else:
                ratios += compare(name, X, y, options.repeats, record, save)
        print(f"geometric mean: {geometric_mean(ratios):.2f}x", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
