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

from widemargin.gram.cached import CachedGram
from widemargin.gram.full import FullGram
from widemargin.kernels import Gaussian, Kernel
from widemargin.monitor.stopping import Stopping
from widemargin.plots.palette import theme_of
from widemargin.problems.classification import hinge
from widemargin.problems.dual import SignedDual
from widemargin.problems.fixed_bias import without_bias
from widemargin.problems.measure import measure
from widemargin.solvers import solver_named
from widemargin.solvers.reference import Keerthi, Platt

C, GAMMA, TOL, SECONDS = 10.0, 1 / 30, 1e-3, 20.0
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
FLOOR = 1e-9  # gaps below it are drawn here


class CountingGram(CachedGram):
    """Keeps no row, and counts the values of those it is asked for."""

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
        if isinstance(run.gram, CountingGram):
            run.gram.values += int(state.scalars[0].work)
        return reached


class CountingPlatt(CountsItsValues, Platt):
    """Platt's SMO with a count."""


class CountingKeerthi(CountsItsValues, Keerthi):
    """Keerthi's SMO with a count."""


def solver(name: str) -> Callable[..., Any]:
    """A solver by its name in TITLES."""
    own = {"platt": CountingPlatt(), "keerthi": CountingKeerthi(), "keerthi-gain": CountingKeerthi("gain")}
    return own[name] if name in own else solver_named(name)


@dataclass(frozen=True)
class Course:
    """What a solver reached, and what it had spent by then; one entry per report."""

    steps: np.ndarray
    seconds: np.ndarray
    values: np.ndarray
    gap: np.ndarray
    violation: np.ndarray
    status: str


def samples() -> tuple[np.ndarray, np.ndarray]:
    """Breast cancer, each feature with mean 0 and variance 1; labels +1 and -1."""
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), np.where(y > 0, 1.0, -1.0)


def problem(name: str, y: np.ndarray) -> tuple[SignedDual, Kernel]:
    """The problem that this solver gets."""
    dual, kernel = hinge(y, np.full(len(y), C)), Gaussian(GAMMA)
    return (without_bias(dual), kernel + 1.0) if name in FIXED_BIAS else (dual, kernel)


def reports(name: str, dual: SignedDual, gram: Any) -> tuple[list[tuple[int, float, int, np.ndarray]], str]:
    """Steps, CPU seconds, kernel values and multipliers whenever the solver reports; and how it ended."""
    found, listening, began = [], 0.0, time.process_time()

    def watch(seen: Any) -> None:
        nonlocal listening
        now, count = time.process_time(), getattr(gram, "values", 0)
        beta = np.array(seen.point()[0])  # may evaluate rows for the listener alone
        if count:
            gram.values = count
        found.append((seen.iterations, now - began - listening, count, beta))
        listening += time.process_time() - now

    solution = solver(name)(dual, gram, Stopping(tol=TOL, time_limit=SECONDS), watch=watch)
    spent = time.process_time() - began - listening
    found.append((solution.iterations, spent, getattr(gram, "values", 0), np.array(solution.beta)))
    return found, solution.status.name


def course(name: str) -> Course:
    """One solver on the problem, once with the matrix in memory and once without."""
    X, y = samples()
    dual, kernel = problem(name, y)
    prepared = kernel.prepare(X, np.float64)
    whole = FullGram.of(kernel, prepared, np.float64)
    some = np.r_[:40, len(y) - 40 : len(y)]
    small, _ = problem(name, y[some])
    reports(name, small, FullGram.of(kernel, kernel.prepare(X[some], np.float64), np.float64))  # compiles
    timed, status = reports(name, dual, whole)
    counted = timed if name == "auto" else reports(name, dual, CountingGram(kernel, prepared, np.float64, 0))[0]
    n_values = [len(y) * (len(y) + 1) // 2] * len(timed) if name == "auto" else [each[2] for each in counted]
    shared = min(len(timed), len(counted))  # the two differ by rounding only, which may cost a pass
    measured = [measure(dual, beta, whole.matrix @ beta) for _, _, _, beta in timed[:shared]]
    return Course(
        steps=np.array([each[0] for each in timed[:shared]]),
        seconds=np.array([each[1] for each in timed[:shared]]),
        values=np.array(n_values[:shared]),
        gap=np.array([each["gap"] for each in measured]),
        violation=np.array([each["violation"] for each in measured]),
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
