"""What elementary steps cost: every time that a decision of the package is based on, in nanoseconds on one core.

The decisions are between two ways to the same answer (evaluate a row again or keep it, pair steps or a Newton step, one
thread or several), so only ratios matter, and a factor of two either way changes little. `benchmarks/costs.py` measures
them on this machine and prints them beside these.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Costs:
    """Nanoseconds on one core; where a cost is per item, its comment says of what."""

    worth_threads: float = 3e5  # work from which it is handed to threads: handing it over takes up to a third of that
    worth_a_part: float = 3e5  # work per round that leaving samples out must save for a Gram of the others to be made
    kernel_value: float = 10.0  # of a kernel that says nothing about it
    table_value: tuple[float, float] = (0.5, 0.2)  # value by a table over counts of bits, and per word of 64 features
    direct_value: tuple[float, float] = (0.4, 0.045)  # Gaussian by differences, and per feature
    product_value: tuple[float, float] = (0.7, 0.022)  # Gaussian by a matrix product, and per feature
    read_value: float = 0.3  # adding a kernel value that was kept
    store_value: float = 6.0  # keeping one: first touch, writing, reading; 1-3 on bare metal, 3-12 on virtual machines
    gather_value: float = 8.0  # taking one from a row that was kept, at worst
    gather_entry: float = 0.6  # taking one from a matrix in memory
    task_value: float = 1.5  # solving a problem, per pair of its samples
    pair_step: float = 0.6  # per variable of the working set
    newton_step: float = 3e5  # with few free variables, ...
    newton_cube: float = 1 / 200  # ... and per cube of their number: two thirds for a factor at 50 operations per ns
    interior_cube: float = 1 / 3  # interior point, per cube of its variables: twenty factors at 10 operations per ns
    linear_entry: float = 1.6  # per entry of the data in a pass of coordinate descent
    copied_entry: float = 1.0  # per entry copied or multiplied once
    factor_operation: float = 0.045  # multiplication and addition of a Cholesky factor of medium size


COSTS = Costs()


def threads_for(nanoseconds: float, n_threads: int) -> int:
    """Number of threads for work that takes so long on one: all, or one where handing it over would cost more."""
    return n_threads if nanoseconds > COSTS.worth_threads else 1
