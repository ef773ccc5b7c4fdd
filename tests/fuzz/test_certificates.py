"""A fixed sample of the attack on certificates: none is false, no bound is wrong, no failure is silent."""

import warnings

import numpy as np
import pytest

import widemargin
from tests.fuzz import families
from tests.fuzz.attack import LARGE_EVERY, Outcome, attack, draw
from tests.fuzz.models import problems_of

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


@pytest.mark.needs_compiler
def test_the_oracle_in_float64_contains_the_truth() -> None:
    """A large box makes a loss of an error of 1e-10, at one scale and not at the next."""
    case = draw(20775000762)
    model = widemargin.SVC(**case.parameters | {"time_limit": None})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(case.X, case.y)
    certificates = list(model.certificate_.parts)
    for problem, certificate in zip(problems_of(model, case.X, case.y, None, certificates), certificates, strict=True):
        primal, dual, gap = problem._objectives()
        assert problem.refine(np.arange(len(problem.X)))
        exact_primal, exact_dual, exact_gap = problem._objectives()
        assert primal[0] <= exact_primal[0] <= exact_primal[1] <= primal[1]
        assert dual[0] <= exact_dual[0] <= exact_dual[1] <= dual[1]
        assert gap[0] <= exact_gap[0] <= certificate.gap
