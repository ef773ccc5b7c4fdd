"""A fixed sample of the attack on certificates: none is false, no bound is wrong, no failure is silent."""

import warnings

import pytest

from tests.fuzz import families
from tests.fuzz.attack import LARGE_EVERY, Outcome, attack

SMALL = [seed for seed in range(83) if seed % LARGE_EVERY != LARGE_EVERY - 1]
FAMILIES = 24
LARGE = (59, 139, 189, 489)  # crowds that grow late, a far crowd, far samples of many features, far groups


def outcome_of(seed: int) -> Outcome:
    """Attack without pytest's rule that warnings are errors: `attack` records them itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return attack(seed)


@pytest.mark.needs_compiler
@pytest.mark.parametrize("first", range(0, len(SMALL), 15))
def test_no_small_certificate_is_false(first: int) -> None:
    outcomes = [outcome_of(seed) for seed in SMALL[first : first + 15]]
    assert [f"{text}: {outcome.case}" for outcome in outcomes for text in outcome.findings] == []
    assert any(outcome.holds for outcome in outcomes)  # else nothing was tested


@pytest.mark.needs_compiler
@pytest.mark.parametrize("seed", LARGE)
def test_no_large_certificate_is_false(seed: int) -> None:
    outcome = outcome_of(seed)
    assert [f"{text}: {outcome.case}" for text in outcome.findings] == []


@pytest.mark.needs_compiler
@pytest.mark.parametrize("first", range(0, FAMILIES, 6))
def test_no_certificate_of_a_family_is_false(first: int) -> None:
    """Cells of searches: answers that began at neighbours, with K b carried along."""
    outcomes = [families.attack(seed) for seed in range(first, first + 6)]
    assert [f"{text}: {outcome.case}" for outcome in outcomes for text in outcome.findings] == []
    assert sum(map(sum, (outcome.held for outcome in outcomes))) > 6  # else little was tested
