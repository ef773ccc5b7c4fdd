"""Tuning constants of the block solver, in one value. What they were measured on is in docs/decisions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BlockTuning:
    """Sizes in variables, violations as shares; give another value to a solver to try other numbers.

    Working sets
    first, smallest, usual, largest : size of the first one, doubled every round up to a cap between the other three.
        Not powers of two, whose rows fall into the same few sets of the cache. `smallest` gives way to the
        `good_block` of a larger Gram
    free_share : of the free variables in a working set where they are more than `usual`
    single : variables up to which the working set is the whole problem
    inner_share : share of the violation to which a working set is solved; the rest needs other variables first
    steps_per_call : bounds the time between two checks of the clock and of Ctrl-C

    Shrinking
    inactive : violations by which the slope of an inactive variable is on the right side of its threshold
    active_share : largest share of active variables for which the inactive ones are left out
    look_again : share of the violation at the last check at which active variables are counted again
    shrink_above : multiples of tol; below, few rounds are left
    single_active : active variables up to which the working set is all of them

    Steps within a working set
    newton_wait : small steps per variable before a Newton step is considered; doubled by a failed step
    slow_calls_before_interior : calls that used up their steps before the interior-point method, unless it is cheaper
    most_interior_rounded : interior points on float32 rows without halving the violation, before float64 rows are used
    most_slow_calls : of such calls without halving the violation, for each working set that the problem has room for

    Small problems are solved to rounding, so that the order of samples and repeated samples do not matter
    exact : variables up to which the first steps continue to rounding
    exact_violation : of the size of slopes and kernel values: what "to rounding" means
    exact_steps : of these first steps at most

    Ending
    stall_rounds : rounds without progress before K b is recomputed, and again before giving up
    recomputations : of K b in one solve
    largest_single_precision : largest slope whose products stay in the range of float32
    smallest_margin2 : squared margin over the largest K_ii below which a hard margin counts as impossible
    """

    first: int = 128
    smallest: int = 1008
    usual: int = 4080
    largest: int = 6640
    free_share: float = 0.9
    single: int = 2048
    inner_share: float = 0.2
    steps_per_call: int = 100_000

    inactive: float = 0.5
    active_share: float = 0.5
    look_again: float = 0.8
    shrink_above: float = 5.0
    single_active: int = 512

    newton_wait: int = 2
    slow_calls_before_interior: int = 3
    most_interior_rounded: int = 2
    most_slow_calls: int = 6

    exact: int = 100
    exact_violation: float = 1e-10
    exact_steps: int = 1000

    stall_rounds: int = 3
    recomputations: int = 3
    largest_single_precision: float = 1e15
    smallest_margin2: float = 1e-10


DEFAULT = BlockTuning()
