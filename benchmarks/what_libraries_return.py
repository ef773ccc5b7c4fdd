"""What SVM libraries return: how far from the optimum their answers are, on twelve data sets and four values of C.

    python -m benchmarks.what_libraries_return --data folder --torchkm PYTHON --page docs/what-libraries-return.md

Every library is called as its documentation does, with default tolerance (1e-3; LIBLINEAR 0.1, in its own measure) and
default limits, each set in a process of its own, which is ended after LIMIT seconds. Sets are those of
`benchmarks.tuning.sets.TWENTY` with two classes: half to train, half held out. The kernel is Gaussian, gamma="scale"
given as a number; LIBLINEAR has linear machines only, with a penalised bias, and is compared with those.

    excess        (P - D) / D, with P the primal value of the returned weights and bias, computed by NumPy in float64,
                  and D the dual value of our fit to tol 1e-6, computed in the same way: whoever found a feasible
                  point, its dual value is a lower bound. For LIBLINEAR's machine D is what our certificate states
    violation     largest violation of the optimality conditions (benchmarks/peers/checker.py), which `tol` limits
    labels        share of the held-out labels that differ from those of the optimum

TorchKM searches a path of C; it is given the four values and five folds, and its answers on all samples are judged.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

import widemargin
from benchmarks.peers.checker import Answer, check
from benchmarks.peers.libraries import LIBRARIES
from benchmarks.peers.problems import Problem
from benchmarks.tuning.objective import excess, primal
from benchmarks.tuning.sets import Halves, load_halves

SETS = ("svmguide1", "splice", "a1a", "w1a", "german", "heart", "australian", "diabetes", "fourclass", "spambase",
        "ionosphere", "ijcnn1")  # fmt: skip
COSTS = (0.1, 1.0, 100.0, 10_000.0)
KERNEL_LIBRARIES = ("scikit-learn", "scikit-learn-intelex", "thundersvm", "torchkm", "widemargin")
LIMIT = 900  # seconds for the four fits of a library on one set
TOL = 1e-3
BETWEEN = ("<!-- results begin -->", "<!-- results end -->")


class Judged(NamedTuple):
    """One answer; NaN for what a library did not return."""

    library: str
    set: str
    C: float
    excess: float
    violation: float
    labels: float
    seconds: float
    said: str


def problem_of(name: str, X: Any, C: float) -> Problem:
    """The problem in the words of benchmarks/peers."""
    gamma = 1.0 / (X.shape[1] * X.var())
    return Problem(name=name, data=name, machine="svc", kernel="rbf", C=C, gamma=float(gamma), tol=TOL)


def fit_here(library: str, data: Path, out: Path) -> None:
    """Fit one library to all values of C, in this process; write an answer for each."""
    with np.load(data) as file:
        X, y = file["X"], file["y"]
    kind = LIBRARIES[library](2)
    for number, C in enumerate(COSTS):
        problem = problem_of("", X, C)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            began = time.perf_counter()
            model = kind.fit(problem, X, y)
            seconds = time.perf_counter() - began
        told = sorted({type(one.message).__name__ for one in said})
        answer = kind.answer(problem, model)
        sign = -1.0 if answer.classes is not None and answer.classes[0] < 0 else 1.0  # of the class that comes first
        np.savez(
            out / f"{number}.npz", support=answer.support, beta=sign * answer.coefficients[0],
            bias=sign * answer.bias[0], seconds=seconds, said=" ".join(told),
        )  # fmt: skip


TORCHKM = """
import sys, time, numpy as np, torch, contextlib, io
from torchkm.cvksvm import cvksvm
from torchkm.functions import rbf_kernel
data, out, gamma, costs = sys.argv[1], sys.argv[2], float(sys.argv[3]), [float(c) for c in sys.argv[4:]]
file = np.load(data); X, y = file["X"], file["y"]; n = len(y)
costs = sorted(costs)  # its path begins at the largest lambda
K = rbf_kernel(torch.as_tensor(X, dtype=torch.double), gamma / 2.0)
began = time.perf_counter()
path = torch.as_tensor([1.0 / (2.0 * n * c) for c in costs])
model = cvksvm(Kmat=K, y=torch.as_tensor(y), nlam=len(costs), ulam=path,
               foldid=torch.as_tensor(np.arange(n) % 5 + 1), nfolds=5, eps=1e-5, gamma=1e-8, is_exact=0, device="cpu")
with contextlib.redirect_stdout(io.StringIO()):
    model.fit()
seconds = (time.perf_counter() - began) / len(costs)
for k in range(len(costs)):
    alpha = model.alpmat[:, k].numpy()
    said = "" if bool(model.converged[k]) else "not converged"
    np.savez(f"{out}/{k}.npz", support=np.arange(n), beta=alpha[1:], bias=alpha[0], seconds=seconds, said=said)
"""


def command_of(library: str, data: Path, out: Path, torchkm: str | None, gamma: float) -> list[str]:
    """The process that fits a library."""
    if library == "torchkm":
        return [str(torchkm), "-c", TORCHKM, str(data), str(out), repr(gamma), *map(repr, COSTS)]
    return [sys.executable, "-m", "benchmarks.what_libraries_return", "--fit", library, str(data), str(out)]


def answers_of(library: str, half: Halves, torchkm: str | None) -> Iterator[tuple[float, dict[str, Any] | None]]:
    """Each C with what the library returned, None where it did not."""
    with tempfile.TemporaryDirectory() as name:
        data, out = Path(name, "data.npz"), Path(name)
        np.savez(data, X=half.X, y=half.y)
        gamma = problem_of("", half.X, 1.0).gamma
        try:
            done = subprocess.run(
                command_of(library, data, out, torchkm, gamma), timeout=LIMIT, capture_output=True, text=True
            )
            if done.returncode:
                print(f"{library}: {done.stderr.strip().splitlines()[-1:]}")
        except subprocess.TimeoutExpired:
            print(f"{library}: not done in {LIMIT} s")
        for number, C in enumerate(COSTS):
            path = out / f"{number}.npz"
            yield C, dict(np.load(path)) if path.exists() else None


def judge_kernel(library: str, name: str, half: Halves, best: dict[float, Any], torchkm: str | None) -> list[Judged]:
    """Judge a kernel library on one set."""
    found = []
    for C, given in answers_of(library, half, torchkm):
        if given is None:
            found.append(Judged(library, name, C, *[np.nan] * 4, "no answer"))
            continue
        support, beta, bias = given["support"].astype(np.int64), given["beta"].astype(np.float64), float(given["bias"])
        problem, (bound, optimum) = problem_of(name, half.X, C), best[C]
        value = primal(half.X, half.y, support, beta, bias, C, problem.gamma)
        answer = Answer(support, beta[None], np.array([bias]), np.array([1.0, -1.0]), single=library == "thundersvm")
        measured = check(problem, half.X, half.y, answer)
        scores = rbf_kernel(half.X_test, half.X[support], gamma=problem.gamma) @ beta + bias
        labels = float(np.mean((scores > 0) != (optimum > 0)))
        found.append(
            Judged(library, name, C, excess(value, bound), measured.violation, labels, float(given["seconds"]),
                   str(given["said"]))
        )  # fmt: skip
    return found


@contextmanager
def captured() -> Iterator[Callable[[], str]]:
    """Keep what C code prints; the function given returns it."""
    with tempfile.TemporaryFile() as file:
        own = os.dup(1)
        sys.stdout.flush()
        os.dup2(file.fileno(), 1)
        try:
            yield lambda: (os.lseek(file.fileno(), 0, os.SEEK_SET), os.read(file.fileno(), 1 << 20).decode())[1]
        finally:
            os.dup2(own, 1)
            os.close(own)


def judge_liblinear(name: str, half: Halves) -> list[Judged]:
    """LIBLINEAR's dual solver of the hinge loss, by its own Python interface."""
    from liblinear import liblinearutil

    found = []
    for C in COSTS:
        best = widemargin.LinearSVC(loss="hinge", C=C, tol=1e-6, max_iter=1_000_000).fit(half.X, half.y)
        bound = best.certificate_.dual
        began = time.perf_counter()
        with captured() as printed:
            model = liblinearutil.train(half.y, half.X, f"-s 3 -B 1 -c {C!r}")
            said = "limit of passes" * ("WARNING" in printed())
        seconds = time.perf_counter() - began
        weights, bias = model.get_decfun(0)
        sign = 1.0 if model.get_labels()[0] > 0 else -1.0
        w, b = sign * np.array(weights), sign * bias
        value = 0.5 * (w @ w + b * b) + C * np.maximum(0.0, 1.0 - half.y * (half.X @ w + b)).sum()
        labels = float(np.mean((half.X_test @ w + b > 0) != (best.decision_function(half.X_test) > 0)))
        found.append(Judged("LIBLINEAR", name, C, excess(value, bound), np.nan, labels, seconds, said))
    return found


def run(folder: Path, torchkm: str | None, sets: list[str]) -> list[Judged]:
    """Judge all libraries that are there."""
    libraries = [one for one in KERNEL_LIBRARIES if one in LIBRARIES and LIBRARIES[one].installed()]
    libraries += ["torchkm"] * (torchkm is not None)
    found: list[Judged] = []
    for name in sets:
        half = load_halves(name, folder)
        y, y_test = (np.where(part == np.unique(half.y)[1], 1.0, -1.0) for part in (half.y, half.y_test))
        half, best = Halves(half.X, y, half.X_test, y_test), {}
        for C in COSTS:
            exact = widemargin.SVC(C=C, gamma=problem_of("", half.X, C).gamma, tol=1e-6).fit(half.X, y)
            problem, ours = problem_of(name, half.X, C), LIBRARIES["widemargin"](2)
            bound = -check(problem, half.X, y, ours.answer(problem, exact)).objective
            best[C] = bound, exact.decision_function(half.X_test)
        for library in libraries:
            found += judge_kernel(library, name, half, best, torchkm)
            print(f"{name:12} {library:22} excess " + " ".join(f"{one.excess:9.1e}" for one in found[-len(COSTS) :]))
        try:
            found += judge_liblinear(name, half)
        except ImportError:
            print("left out: liblinear-official is not installed")
    return found


def tables(found: list[Judged]) -> str:
    """Two tables in Markdown: the libraries, and their worst answers by C."""
    libraries = list(dict.fromkeys(one.library for one in found))
    lines = ["| library | answers | excess, median | worst | violation at most tol | worst violation | labels, worst | "
             "says so |", "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for library in libraries:
        own = [one for one in found if one.library == library]
        given = [one for one in own if one.said != "no answer"]
        if not given:
            lines.append(f"| {library} | 0 of {len(own)} " + "| " * 6 + "|")
            continue
        gaps, violations = [one.excess for one in given], [one.violation for one in given]
        is_measured = not np.isnan(violations).all()
        within = f"{sum(v <= 1.01 * TOL for v in violations)} of {len(given)}" if is_measured else ""
        worst = f"{max(violations):.2g}" if is_measured else ""
        lines.append(
            f"| {library} | {len(given)} of {len(own)} | {median(gaps):.1e} | {max(gaps):.1e} | {within} | {worst} | "
            f"{max(one.labels for one in given):.1%} | {sum(bool(one.said) for one in given)} |"
        )
    lines += ["", "Largest excess by C:", "", "| library | " + " | ".join(f"C = {C:g}" for C in COSTS) + " |",
              "|---" * (1 + len(COSTS)) + "|"]  # fmt: skip
    for library in libraries:
        own = [one for one in found if one.library == library and one.said != "no answer"]
        worst_of = [max((one.excess for one in own if one.C == C), default=np.nan) for C in COSTS]
        lines.append(f"| {library} | " + " | ".join(f"{value:.1e}" for value in worst_of) + " |")
    return "\n".join(lines)


def main() -> None:
    """Parse the arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of data sets")
    parser.add_argument("--torchkm", help="a Python that has torch and torchkm")
    parser.add_argument("--only", nargs="*", default=list(SETS), help="some of the sets")
    parser.add_argument("--record", type=Path, default=Path("bench_out/what-libraries-return.json"))
    parser.add_argument("--page", type=Path, help="page to write the tables into")
    parser.add_argument("--fit", nargs=3, metavar=("LIBRARY", "DATA", "OUT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fit:
        fit_here(options.fit[0], Path(options.fit[1]), Path(options.fit[2]))
        return
    if options.data is not None:
        found = run(options.data, options.torchkm, options.only)
        options.record.parent.mkdir(parents=True, exist_ok=True)
        options.record.write_text(json.dumps([one._asdict() for one in found], indent=1))
    else:
        found = [Judged(**one) for one in json.loads(options.record.read_text())]
    print(tables(found))
    if options.page is not None:
        text = options.page.read_text(encoding="utf-8")
        before, after = text.split(BETWEEN[0])[0], text.split(BETWEEN[1])[1]
        options.page.write_text(f"{before}{BETWEEN[0]}\n\n{tables(found)}\n\n{BETWEEN[1]}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
