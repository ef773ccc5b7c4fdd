"""What widemargin does, in a minute: train, certify, compare with scikit-learn, draw. Run it by `make demo`.

Two problems with a Gaussian kernel:
  digits        scikit-learn's 1,797 handwritten digits, ten classes
  Platt's set   random vectors of 300 bits, one in ten set; the label is the side of a random hyperplane, and points
                close to it are thrown away (Platt 1998, section 3.3, the separable artificial set)

Both libraries train to the same tolerance on the same data in this process. widemargin's functions are compiled on
their first use (and kept on disk for later processes); that warm-up is timed apart.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits, make_moons
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC as ScikitLearnSVC

from widemargin import SVC
from widemargin.cli.screen import certificate_table
from widemargin.plots import plot_boundary

PLATT_SAMPLES = 12_000
TURNS = 3
ENOUGH_SECONDS = 3.0  # of scikit-learn's fits: the demo is to take a minute
PICTURE = Path("demo_out") / "boundary.png"
console = Console(highlight=False)


def platt_separable(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Platt's first artificial set: 300 bits, labelled by a random hyperplane with an empty strip around it."""
    rng = np.random.default_rng(seed)
    weight = rng.uniform(-1.0, 1.0, 300)
    kept: list[np.ndarray] = []
    while sum(map(len, kept)) < n:
        X = (rng.random((n, 300)) < 0.1).astype(float)
        kept.append(X[np.abs(X @ weight) > 1.0])
    X = np.concatenate(kept)[:n]
    return X, np.where(X @ weight > 0.0, 1, -1)


@dataclass
class Row:
    """What one library did: its last model, and the seconds of each turn."""

    model: Any = None
    fit: list[float] = field(default_factory=list)
    predict: list[float] = field(default_factory=list)


def seconds(action: Callable[[], object]) -> float:
    """How long an action takes."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def warm_up() -> float:
    """Compile what the demo uses, or load it from disk: fits on other data of the same kinds and sizes.

    Without a time limit, first fits interpret some functions, which would then be compiled while the clock runs.
    """
    X, y = load_digits(return_X_y=True)
    bits, sides = platt_separable(PLATT_SAMPLES, seed=1)

    def fits() -> None:
        SVC(gamma=1e-3, time_limit=60.0).fit(X[::-1], y[::-1]).predict(X)
        SVC(gamma=1e-2, time_limit=60.0).fit(bits, sides).predict(bits[:3000])

    return seconds(fits)


def compare(title: str, X: np.ndarray, y: np.ndarray, **settings: float) -> None:
    """Train both libraries on three quarters of the data and test them on the rest."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
    console.rule(f"[bold]{title}[/]: {len(X_train):,} to train, {len(X_test):,} to test, {X.shape[1]} features")
    named = ", ".join(f"{name}={value:g}" for name, value in settings.items())
    rows = {"widemargin": Row(), "scikit-learn": Row()}
    while len(rows["scikit-learn"].fit) < TURNS and sum(rows["scikit-learn"].fit) < ENOUGH_SECONDS:
        first = not rows["widemargin"].fit
        for row, model in zip(rows.values(), (SVC(verbose=first, **settings), ScikitLearnSVC(**settings))):
            row.fit.append(seconds(lambda model=model: model.fit(X_train, y_train)))
            row.predict.append(seconds(lambda model=model: model.predict(X_test)))
            row.model = model

    console.print(certificate_table(rows["widemargin"].model.certificate_))
    table = Table("", "fit", "predict", "test accuracy", title=f"Gaussian kernel, {named}", title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, row in rows.items():
        accuracy = row.model.score(X_test, y_test)
        table.add_row(name, f"{min(row.fit):.3f} s", f"{min(row.predict):.3f} s", f"{accuracy:.2%}")
    ours, theirs = rows.values()
    ratios = [f"{min(theirs.fit) / min(ours.fit):.1f}x", f"{min(theirs.predict) / min(ours.predict):.1f}x"]
    table.add_row("ratio", *ratios, "", style="bold")
    console.print(table)
    console.print()


def draw() -> str:
    """The boundary of a machine on two features, as a picture, and in words for people who cannot see it."""
    import matplotlib

    matplotlib.use("Agg")
    X, y = make_moons(240, noise=0.26, random_state=3)
    model = SVC(C=4.0, gamma=1.0).fit(X, y)
    ax = plot_boundary(model, X, y)
    ax.set_title(f"SVC(C=4, gamma=1): relative gap {model.certificate_.gap:.0e}", loc="left", fontsize=11)
    PICTURE.parent.mkdir(exist_ok=True)
    support, free = model.certificate_.n_support, model.certificate_.n_free
    in_words = (
        f"{len(X)} points in two half moons; the boundary winds between them. {free} points lie on the margins and "
        f"{support - free} inside or on the wrong side; the other {len(X) - support} could go without a change."
    )
    ax.figure.savefig(PICTURE, dpi=130, metadata={"Description": in_words})
    return in_words


def main() -> int:
    console.print()
    console.print("Warm-up: functions are compiled (about 20 s, the first time only) or loaded from disk ...")
    console.print(f"It took {warm_up():.1f} s, not counted below.")
    console.print(f"Times are the best of up to {TURNS} turns; the libraries take turns.\n")
    compare("Handwritten digits", *load_digits(return_X_y=True), C=10.0, gamma=1e-3)
    compare("Platt's artificial set", *platt_separable(PLATT_SAMPLES), C=10.0, gamma=0.01)
    in_words = draw()
    console.print(f"A boundary with its margins and support vectors: [bold]{PICTURE}[/]\n{in_words}")
    return 0


if __name__ == "__main__":
    warnings.simplefilter("default")
    sys.exit(main())
