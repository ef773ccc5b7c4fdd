"""Solvers of the signed dual: the fast block solver and, by name, the algorithms of the literature (reference/)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from widemargin.solvers.solution import Solution
from widemargin.solvers.solve import solve_blocks

SOLVERS: dict[str, Callable[..., Solution]] = {"auto": solve_blocks, "block": solve_blocks}

#: Names of the reference solvers and their classes, imported on request.
REFERENCE: dict[str, str] = {
    "adatron": "Adatron",
    "chunking": "Chunking",
    "coordinate": "Coordinate",
    "fixed-threshold": "FixedThreshold",
    "gradient": "Gradient",
    "keerthi": "Keerthi",
    "multiplicative": "Multiplicative",
    "nearest-points": "NearestPoints",
    "osuna": "Osuna",
    "perceptron": "Perceptron",
    "platt": "Platt",
    "qp": "QuadraticProgramme",
    "simplified": "Simplified",
}


def solver_named(solver: str | Callable[..., Solution] | Any) -> Callable[..., Solution]:
    """Return the solver with this name, or the argument itself if it is a function or an object with `solve`.

    Examples
    --------
    >>> from widemargin import SVC
    >>> from widemargin.solvers import solver_named
    >>> SVC(kernel="linear", solver=solver_named("platt")).fit([[-1.0], [1.0]], [0, 1]).certificate_.holds
    True
    """
    if not isinstance(solver, str):
        solve = solver if callable(solver) else getattr(solver, "solve", None)
        if solve is None or not _takes_what_a_fit_gives(solve):
            raise TypeError(
                "solver must be a name, a solver of widemargin.solvers.reference, or a function solve(dual, gram, "
                "stopping, start=None, function=None, watch=None) that returns a widemargin.solvers.Solution, such as "
                f"widemargin.solvers.solve_blocks; got {solver!r}."
            )
        return solve
    if solver in SOLVERS:
        return SOLVERS[solver]
    if solver not in REFERENCE:
        raise ValueError(f"solver must be one of {', '.join(sorted({*SOLVERS, *REFERENCE}))}; got {solver!r}.")
    from widemargin.solvers import reference

    return getattr(reference, REFERENCE[solver])()


def _takes_what_a_fit_gives(solve: Callable[..., Any]) -> bool:
    """Whether a solver can be called as training/certified.py does."""
    try:
        inspect.signature(solve).bind("dual", "gram", "stopping", start=None, function=None, watch=None)
    except (TypeError, ValueError):
        return False
    return True


__all__ = ["REFERENCE", "SOLVERS", "Solution", "solve_blocks", "solver_named"]
