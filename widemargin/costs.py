"""Costs of elementary steps, on which choices of the package are based, in nanoseconds on one core.

The choices are between two ways to the same answer (evaluate a row again or keep it, pair steps or a Newton step, one
thread or several), so only ratios matter, and a factor of two either way changes little. `benchmarks/costs.py` measures
the costs on the current machine and prints them beside these.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Costs:
    """Nanoseconds on one core; where a cost is per item, the comment names the item."""

    worth_threads: float = 3e5  # work from which threads are used: dispatching takes up to a third of that
    worth_a_part: float = 3e5  # work per round that shrinking must save to be worth a Gram of the active samples
    kernel_value: float = 10.0  # of a kernel that does not state it
    table_value: tuple[float, float] = (0.5, 0.2)  # value by a table over counts of bits, and per word of 64 features
    direct_value: tuple[float, float] = (0.4, 0.045)  # Gaussian by differences, and per feature
    product_value: tuple[float, float] = (0.7, 0.022)  # Gaussian by a matrix product, and per feature
    read_value: float = 0.3  # adding a stored kernel value
    store_value: float = 6.0  # storing one: first touch, writing, reading; 1-3 on bare metal, 3-12 on virtual machines
    gather_value: float = 8.0  # reading one from a stored row, at worst
    gather_entry: float = 0.6  # reading one from a matrix in memory
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
    """Return the number of threads for work of this duration: all, or one if dispatching would cost more."""
    return n_threads if nanoseconds > COSTS.worth_threads else 1
