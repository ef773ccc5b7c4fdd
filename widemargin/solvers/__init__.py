"""How the signed dual is solved: the fast block solver and, by name, the others."""

from __future__ import annotations

from collections.abc import Callable

from widemargin.solvers.block import solve_blocks
from widemargin.solvers.solution import Solution, Status

SOLVERS: dict[str, Callable[..., Solution]] = {"auto": solve_blocks, "block": solve_blocks}


def solver_named(name: str) -> Callable[..., Solution]:
    """The solver with this name, or a sentence that lists them."""
    if name not in SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(sorted(SOLVERS))}; got {name!r}.")
    return SOLVERS[name]


__all__ = ["SOLVERS", "Solution", "Status", "solve_blocks", "solver_named"]
