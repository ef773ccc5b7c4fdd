"""The reference solvers with the options that the tests try, and problems they share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.oracles import KERNELS, MACHINES, noisy_scores
from widemargin.problems import SignedDual
from widemargin.solvers.reference import (
    Adatron,
    Chunking,
    Coordinate,
    FixedThreshold,
    Gradient,
    Keerthi,
    Multiplicative,
    NearestPoints,
    Osuna,
    Platt,
    QuadraticProgramme,
    Simplified,
)

ONE_SUM = ("hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive", "one_class")
SIGNED = ("hinge", "squared_hinge", "nu_classification", "nu_regression", "one_class")
NO_SUM = ("hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive")

#: Solvers of machines with one equality constraint, and of all machines.
PAIRS = {
    "platt": Platt(),
    "keerthi": Keerthi(),
    "keerthi-gain": Keerthi("gain"),
    "simplified": Simplified(),
}
GENERAL = {
    "gradient": Gradient(),
    "gradient-band": Gradient(band=1.0),
    "chunking": Chunking(10),
    "osuna": Osuna(size=16, exchange=8),
    "qp": QuadraticProgramme(),
}
SINGLES = {
    "fixed-threshold": FixedThreshold(),
    "adatron-sequential": Adatron(),
    "adatron-relaxed": Adatron(omega=1.3),
    "adatron-violators": Adatron("violators"),
    "adatron-nonbound": Adatron("nonbound"),
    "adatron-ascending": Adatron("ascending"),
    "adatron-gap": Adatron("gap"),
    "coordinate-cyclic": Coordinate(),
    "coordinate-random": Coordinate("random"),
    "coordinate-greedy": Coordinate("greedy"),
}
#: Solvers of machines whose multipliers have one sign each, and of two classes without a box.
ONE_SIGN = {"multiplicative": Multiplicative()}
NO_BOX = {"nearest-points": NearestPoints()}
ALL = {**PAIRS, **GENERAL, **SINGLES, **ONE_SIGN}


def small_problem(machine: str, kernel: str = "rbf", n: int = 40, fixed: bool = False, seed: int = 5) -> tuple:
    """A signed dual and its kernel matrix."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    K = KERNELS[kernel][1](X, X)
    dual = MACHINES[machine](noisy_scores(X, rng), np.ones(n))
    return (replace(dual, n_groups=0), K + 0.5) if fixed else (dual, K)


def suited(name: str, dual: SignedDual) -> SignedDual:
    """The machine as a solver takes it: without the constraint for those that move one multiplier at a time."""
    return replace(dual, n_groups=0) if name in SINGLES else dual


def takes(name: str, dual: SignedDual) -> bool:
    """Whether a solver takes the machine."""
    try:
        ALL[name].check(suited(name, dual))
    except ValueError:
        return False
    return True


def needs(name: str) -> None:
    """Leave a test out where an optional package is missing."""
    if name == "qp":
        pytest.importorskip("clarabel")
