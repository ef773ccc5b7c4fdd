"""One random family of fits, as a search trains it, and the certificates of its cells compared with the truth.

Every cell is judged from the machine it leaves (`Search.fitted`) and the training rows of its split alone, so that
gamma, class weights, boxes and answers that were started at neighbours have to be right too. Its decision values for
held-out samples are compared with the machine's.
"""

from __future__ import annotations

import warnings
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import widemargin
from tests.fuzz import generators as generate
from tests.fuzz.attack import Case, Outcome, callable_gaussian, note_error
from tests.fuzz.models import problems_of
from tests.fuzz.verdicts import judge
from widemargin.model_selection.cells import NotTogether, Search
from widemargin.model_selection.held_out import Until
from widemargin.model_selection.one_cell import Cell, Split
from widemargin.monitor import clock
from widemargin.training import family

SECONDS = 4.0  # until a family is cut: what was finished is judged
MOST_JUDGED = 6  # cells of a family
KERNELS = ("rbf", "rbf", "rbf", "rbf", "poly", "laplacian", "precomputed", "callable")
MACHINES = ("SVC", "SVC", "SVC", "SVR", "SVR", "NuSVC", "NuSVR")
SINGLE = 0.3  # share of families whose matrices are made in float32, as those of large data are
ON_DEMAND = 0.1  # share of families without room for a matrix


def draw(seed: int) -> Case:
    """The family of a seed; its parameters are lists, and `splits` are among them."""
    rng = np.random.default_rng([seed, 1])
    ordinary = bool(rng.random() < 0.25)
    n = max(12, int(3 * 60.0 ** rng.random()))
    sample = generate.points(rng, n, ordinary)
    machine, kernel = str(rng.choice(MACHINES)), str(rng.choice(KERNELS))
    if kernel == "callable" and (sparse.issparse(sample.X) or sample.X.shape[1] > 8):
        kernel = "rbf"
    X: Any = sample.X
    if kernel == "precomputed":
        dense = sample.dense / sample.unit
        with np.errstate(over="ignore", under="ignore"):
            X = np.exp(-np.square(dense[:, None, :] - dense[None, :, :]).sum(axis=2))
    elif rng.random() < 0.2 and sample.shape not in ("tiny", "huge"):
        X = X.astype(np.float32)
    low, high = (-1.0, 2.0) if ordinary else (-6.0, 9.0)
    start, step = generate.power(rng, low, high), generate.power(rng, 0.02, 1.5)
    grid: dict[str, list] = {"C": [float(np.clip(start * step**k, 1e-6, 1e9)) for k in range(int(rng.integers(2, 6)))]}
    if machine == "NuSVC":
        grid = {"nu": sorted(rng.uniform(0.02, 0.9, size=4).tolist())}
    if machine == "NuSVR":
        grid["nu"] = [0.1, 0.4]
    if machine == "SVR":
        grid["epsilon"] = [0.0, 0.1]
    if machine in ("SVC", "NuSVC") and rng.random() < 0.2:
        grid["class_weight"] = [None, "balanced"]
    parameters: dict[str, Any] = {"kernel": callable_gaussian if kernel == "callable" else kernel, "grid": grid}
    if kernel in ("rbf", "laplacian", "poly"):
        unit = float(np.clip(sample.unit, 1e-150, 1e150)) ** (1 if kernel == "laplacian" else 2)
        size = unit if kernel != "poly" else max(float(np.mean(np.square(sample.dense))), 1e-300)
        gammas = [float(np.clip(generate.power(rng, -6.0, 4.0) / size, 1e-300, 1e300)) for _ in range(2)]
        grid["gamma"] = [*gammas, "scale"] if kernel == "rbf" and sample.shape not in ("tiny", "huge") else gammas
    parameters["tol"] = float(rng.choice([1e-2, 1e-3, 1e-4, 1e-6]))
    if rng.random() < 0.2 and machine in ("SVC", "SVR"):
        parameters["loss"] = "squared_hinge" if machine == "SVC" else "squared_epsilon_insensitive"
    parameters["splits"] = splits(n, rng)
    y: Any = generate.targets(rng, sample, ordinary)
    if machine in ("SVC", "NuSVC"):
        y = generate.labels(rng, sample, 3 if n > 240 and rng.random() < 0.5 else 2, ordinary)
    weight = np.maximum(generate.weights(rng, n), 1e-4) if rng.random() < 0.2 else None
    return Case(seed, machine, "family", ordinary, sample.shape, X, y, weight, parameters)


def splits(n: int, rng: np.random.Generator) -> list[Split]:
    """Two splits: parts, or rows drawn with repetition, in both parts and in neither."""
    if rng.random() < 0.6:
        order = rng.permutation(n)
        return [Split(order[n // 3 :], order[: n // 3]), Split(order[: n - n // 3], order[n - n // 3 :])]
    return [Split(rng.integers(0, n, size=n), rng.permutation(n)[: n // 2]) for _ in range(2)]


def attack(seed: int) -> Outcome:
    """Train the family of a seed and judge its cells."""
    case, rng = draw(seed), np.random.default_rng([seed, 2])
    outcome = Outcome(case)
    single, on_demand = rng.random() < SINGLE, rng.random() < ON_DEMAND
    try:
        with (
            warnings.catch_warnings(),
            mock.patch.object(family, "DOUBLE", 0 if single else family.DOUBLE),
            mock.patch.object(family, "WHOLE_SHARE", 0.0 if on_demand else family.WHOLE_SHARE),
        ):
            warnings.simplefilter("ignore")
            _attack(case, outcome, rng)
    except NotTogether:
        outcome.refusal = "cells are trained alone"
    except Exception as error:
        note_error(outcome, error)
    return outcome


def _attack(case: Case, outcome: Outcome, rng: np.random.Generator) -> None:
    options = {name: case.parameters[name] for name in ("kernel", "tol", "loss") if name in case.parameters}
    machine = getattr(widemargin, case.machine)(**options)
    names = list(case.parameters["grid"])
    settings = [{}]
    for name in names:
        settings = [{**one, name: value} for one in settings for value in case.parameters["grid"][name]]
    found: dict[int, Cell] = {}
    search = Search(machine, case.X, case.y, case.parameters["splits"], case.weight, with_models=True)
    wanted = [(number, split) for number in range(len(settings)) for split in range(2)]
    search.train(settings, wanted, Until(None, clock.now() + SECONDS), found.__setitem__)
    outcome.status = "OPTIMAL"
    holding = [place for place, cell in found.items() if cell.certificate.holds]
    outcome.holds = bool(holding)
    places = rng.permutation(list(found))[:MOST_JUDGED] if found else []
    for place in places:
        _judge(case, outcome, search, found[int(place)], wanted[int(place)][1])


def _judge(case: Case, outcome: Outcome, search: Search, cell: Cell, split: int) -> None:
    """Judge a cell by its machine and the training rows of its split."""
    train, test = case.parameters["splits"][split]
    fitted: Any = search.fitted(cell, split)
    is_precomputed = fitted.kernel == "precomputed"
    X = case.X[np.ix_(train, train)] if is_precomputed else case.X[train]
    if fitted.gamma == "scale":
        fitted.gamma = 1.0 / (X.shape[1] * _variance(X, None if case.weight is None else case.weight[train]))
    y, weight = case.y[train], None if case.weight is None else case.weight[train]
    parts = list(fitted.certificate_.parts) or [fitted.certificate_]
    outcome.held += [part.holds for part in parts]
    outcome.verdicts += [judge(problem, part) for problem, part in zip(problems_of(fitted, X, y, weight, parts), parts)]
    if fitted.certificate_.holds and fitted.kernel in ("rbf", "laplacian"):  # with values of at most one
        tested = case.X[np.ix_(test, train)] if is_precomputed else case.X[test]
        values, size = fitted._decision_values(tested), float(np.abs(fitted.dual_coef_).sum()) + 1.0
        off = float(np.abs(values - cell.decision).max(initial=0.0))
        if off > 1e-4 * size:  # of rounding in float32
            outcome.disagrees = f"held-out values are {off:.3g} off the machine's, of size {size:.3g}"


def _variance(X: Any, weight: NDArray | None) -> float:
    """The variance of all entries, samples counted with their weights."""
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X)
    weight = np.ones(len(dense)) if weight is None else weight
    mean = np.average(dense.astype(np.float64).mean(axis=1), weights=weight)
    return float(np.average(np.square(dense - mean).mean(axis=1), weights=weight))
