"""Ten algorithms, one problem: the relative duality gap against steps, kernel values and CPU seconds; two more beside.

    minimise 1/2 b'K b - y'b,    b_i between 0 and y_i C,    sum b = 0          (breast cancer, Gaussian kernel, C = 10)

The ten solve this problem. "adatron" and "fixed-threshold" move one multiplier at a time and cannot keep the sum: they
solve the neighbouring problem of a penalised bias (K + 1, no sum), and their gap is the distance from its optimum.

seconds         CPU time with the kernel matrix in memory, computed before; compiled before
kernel values   what an implementation evaluates that stores none: every block and every row that the solver asks for.
                Platt's and Keerthi's solvers count their own, a whole row for each output they sum. "auto" and "qp"
                hold the matrix, which is evaluated once
gap             computed afterwards, at the points that the solver reports, about one per pass

See  docs/guide/solvers.md for the algorithms and their sources.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from widemargin.gram.full import FullGram
from widemargin.kernels import Gaussian, Kernel
from widemargin.monitor.stopping import Stopping
from widemargin.plots.palette import theme_of
from widemargin.problems.classification import hinge
from widemargin.problems.dual import SignedDual
from widemargin.problems.fixed_bias import without_bias
from widemargin.problems.measure import measure
from widemargin.solvers import solver_named
from widemargin.solvers.reference import Chunking, Keerthi, Osuna, Platt

C, GAMMA, TOL = 10.0, 1 / 30, 1e-3
TITLES = {
    "auto": "auto (block)",
    "platt": "platt",
    "keerthi": "keerthi",
    "keerthi-gain": "keerthi, second order",
    "simplified": "simplified",
    "chunking": "chunking",
    "osuna": "osuna",
    "qp": "qp",
    "gradient": "gradient",
    "multiplicative": "multiplicative",
    "adatron": "adatron (fixed bias)",
    "fixed-threshold": "fixed-threshold (fixed bias)",
}
FIXED_BIAS = ("adatron", "fixed-threshold")
AXES = {"steps": "steps", "values": "kernel values evaluated", "seconds": "CPU seconds"}
FLOOR = 1e-7  # gaps below it are drawn here


class CountingGram(FullGram):
    """Has the matrix in memory, and counts the values that one who has not would evaluate."""

    values = 0

    def block(self, index: Any) -> Any:
        self.values += len(index) * (len(index) + 1) // 2
        return super().block(index)

    def add_rows(self, index: Any, coefficients: Any, Kb: Any, keep: Any = None) -> None:
        self.values += len(index) * len(self)
        super().add_rows(index, coefficients, Kb, keep)


class CountsItsValues:
    """Adds what one of Platt's relatives evaluates to the count of the Gram."""

    def sweep(self, run: Any, values: Any, state: Any, points: Any, first: int) -> tuple[int, int]:
        """Examine some points."""
        reached: tuple[int, int] = super().sweep(run, values, state, points, first)  # type: ignore[misc]
        run.gram.values += int(state.scalars[0].work)
        return reached


class CountingPlatt(CountsItsValues, Platt):
    """Platt's SMO with a count."""


class CountingKeerthi(CountsItsValues, Keerthi):
    """Keerthi's SMO with a count."""


def solver(name: str) -> Callable[..., Any]:
    """A solver by its name in TITLES."""
    own = {
        "platt": CountingPlatt(),
        "keerthi": CountingKeerthi(),
        "keerthi-gain": CountingKeerthi("gain"),
        "chunking": Chunking(50),
        "osuna": Osuna(100, 50),
    }
    return own[name] if name in own else solver_named(name)


@dataclass(frozen=True)
class Course:
    """What a solver reached, and what it had spent by then; one entry per report."""

    steps: np.ndarray
    seconds: np.ndarray
    values: np.ndarray
    gap: np.ndarray
    status: str


def samples() -> tuple[np.ndarray, np.ndarray]:
    """Breast cancer, each feature with mean 0 and variance 1; labels +1 and -1."""
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), np.where(y > 0, 1.0, -1.0)


def problem(name: str, y: np.ndarray) -> tuple[SignedDual, Kernel]:
    """The problem that this solver gets."""
    dual, kernel = hinge(y, np.full(len(y), C)), Gaussian(GAMMA)
    return (without_bias(dual), kernel + 1.0) if name in FIXED_BIAS else (dual, kernel)


def reports(name: str, dual: SignedDual, gram: CountingGram) -> tuple[list[tuple[int, float, int, np.ndarray]], str]:
    """Steps, CPU seconds, kernel values and multipliers whenever the solver reports; and how it ended."""
    found, listening, began = [], 0.0, time.process_time()

    def watch(seen: Any) -> None:
        nonlocal listening
        now, count = time.process_time(), gram.values
        found.append((seen.iterations, now - began - listening, count, np.array(seen.point()[0])))
        gram.values = count  # without those of the listener alone
        listening += time.process_time() - now

    solution = solver(name)(dual, gram, Stopping(tol=TOL), watch=watch)
    spent = time.process_time() - began - listening
    found.append((solution.iterations, spent, gram.values, np.array(solution.beta)))
    return found, solution.status.name


def course(name: str) -> Course:
    """One solver on the problem; functions are compiled before, on some samples."""
    X, y = samples()
    some = np.r_[:40, len(y) - 40 : len(y)]
    for chosen in (some, np.arange(len(y))):
        dual, kernel = problem(name, y[chosen])
        gram = CountingGram.of(kernel, kernel.prepare(X[chosen], np.float64), np.float64)
        found, status = reports(name, dual, gram)
    steps, seconds, values, points = zip(*found, strict=True)
    measured = [measure(dual, beta, gram.matrix @ beta) for beta in points]
    n = len(y)
    return Course(
        steps=np.array(steps),
        seconds=np.array(seconds),
        values=np.full(len(steps), n * (n + 1) // 2) if name == "auto" else np.array(values),
        gap=np.array([each["gap"] for each in measured]),
        status=status,
    )


@cache
def courses() -> dict[str, Course]:
    """All of them."""
    return {name: course(name) for name in TITLES}


def draw(against: str) -> Any:
    """One panel per solver, the others in grey."""
    figure, axes = plt.subplots(3, 4, figsize=(10.0, 7.2), sharex=True, sharey=True, layout="constrained")
    for ax, (name, title) in zip(axes.flat, TITLES.items(), strict=True):
        theme = theme_of(ax)
        for other, found in courses().items():
            spent, gap = getattr(found, against), np.maximum(found.gap, FLOOR)
            shown = spent > 0  # a logarithmic axis has no start
            if other == name:
                colour = theme.colour(1 if name in FIXED_BIAS else 0)
                ax.plot(spent[shown], gap[shown], color=colour, linewidth=1.8, zorder=3)
                ax.plot(spent[-1], gap[-1], marker="o", markersize=5, color=theme.ink, zorder=4)
            else:
                ax.plot(spent[shown], gap[shown], color="#cccccc", linewidth=0.7)
        ax.set(xscale="log", yscale="log", ylim=(FLOOR, 2.0))
        ax.set_title(title, fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
    figure.supxlabel(AXES[against], fontsize=10)
    figure.supylabel("relative duality gap", fontsize=10)
    return figure


def draw_steps() -> Any:
    """Gap against steps."""
    return draw("steps")


def draw_values() -> Any:
    """Gap against kernel values."""
    return draw("values")


def draw_seconds() -> Any:
    """Gap against CPU seconds."""
    return draw("seconds")


def table() -> str:
    """The last point of every course, as Markdown."""
    lines = ["| solver | steps | kernel values | CPU seconds | gap at the end | ended |", "|---|---|---|---|---|---|"]
    for name, found in courses().items():
        last = f"{found.steps[-1]:,} | {found.values[-1]:,.3g} | {found.seconds[-1]:.2g} | {found.gap[-1]:.1g}"
        lines.append(f"| `{name}` | {last} | {found.status} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
