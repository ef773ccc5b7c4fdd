"""Tuning constants of the linear solvers, in one value; `benchmarks/linear.py` measures what they change."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LinearTuning:
    """Sizes in samples or features; give another value to a solver to try other numbers.

    Which method (solve.py)
    easy, easy_narrow : hardness below which coordinate descent needs few passes, for more than `few_features` or fewer
    first_passes : of coordinate descent before Newton, for more than `few_features`
    subsample : Newton starts from the optimum of each subsample-th sample ...
    samples_per_feature : ... from here on, for squared and for linear losses

    Which Newton system (newton_system.py)
    few_features : up to which the system of the features is so small that it is always taken
    most_features : up to which it may be factored; beyond, only the system of the free samples is
    free_per_feature : free samples per feature up to which their system is the cheaper one
    most_free : order of the largest factored system of samples: 100 MB and a third of a second
    most_kept : samples whose inner products are kept: 200 MB

    Newton rounds (proximal_newton.py)
    round_share : a round ends when |g|^2 / 2 falls below this share of the complementarity term ...
    small_decrement : ... or when the predicted decrease of the objective falls below this one
    largest_s : s in units of 1 / margin: beyond, rounding of a margin moves multipliers by more than the tolerance
    patience : steps without a better gap after which rounding is assumed to be the limit: a round can take a hundred
    typical_steps : from the multipliers of coordinate descent, for squared and for linear losses

    Passes of coordinate descent (dual_descent.py)
    cache : bytes of data up to which a random visit costs no page
    near_share : of the gap allowed: what near-optimal samples may have together
    mostly_near : share of the samples: if more than this are not near-optimal, all are visited
    extra_work : of a pass that is spent on the other samples alone before all are visited again
    first_ratio : of the gap at the end of a pass to its estimate, which is mostly that of the beginning
    believed : passes after which the estimated rate of the gap is reliable
    """

    easy: float = 3.0
    easy_narrow: float = 1.0
    first_passes: int = 4
    subsample: int = 16
    samples_per_feature: tuple[int, int] = (200, 1600)

    few_features: int = 200
    most_features: int = 1500
    free_per_feature: float = 0.6
    most_free: int = 3500
    most_kept: int = 5000

    round_share: float = 0.3
    small_decrement: float = 0.01
    largest_s: float = 1e10
    patience: int = 200
    typical_steps: tuple[int, int] = (7, 18)

    cache: int = 24_000_000
    near_share: float = 0.5
    mostly_near: float = 0.5
    extra_work: float = 0.3
    first_ratio: float = 1 / 3
    believed: float = 60.0


DEFAULT = LinearTuning()
