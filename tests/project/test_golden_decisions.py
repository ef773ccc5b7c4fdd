"""Decision values are those on record."""

import json

import numpy as np
import pytest

from tests.project.golden_decisions import FILE, PROBLEMS, decisions
from widemargin.estimators.registry import ESTIMATORS

RECORD = json.loads(FILE.read_text("utf-8"))


def test_every_estimator_is_on_record():
    assert {type(estimator).__name__ for estimator, _, _ in PROBLEMS.values()} == set(ESTIMATORS)
    assert list(RECORD) == list(PROBLEMS)


@pytest.mark.needs_compiler
@pytest.mark.parametrize("name", PROBLEMS)
def test_decision_values_are_those_on_record(name):
    expected = np.array(RECORD[name])
    difference = np.abs(decisions(name) - expected).max() / np.abs(expected).max()
    assert difference < 1e-6, (
        f"Decision values changed by {difference:.1e}, relative to the largest. If that is meant, say so in "
        "CHANGELOG.md under Numeric changes and renew the record by `python -m tests.project.golden_decisions`."
    )
