"""What all tests share: how hypothesis searches, and where random numbers come from.

HYPOTHESIS_PROFILE=search tries more and fresh random examples; the default repeats the same ones, so that a failure on
one machine is a failure everywhere.
"""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

SLOW_FIRST_CALL = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]  # the first example compiles

settings.register_profile("ci", deadline=None, max_examples=20, derandomize=True, suppress_health_check=SLOW_FIRST_CALL)
settings.register_profile("search", deadline=None, max_examples=200, suppress_health_check=SLOW_FIRST_CALL)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture
def rng() -> np.random.Generator:
    """A seeded source of random numbers, new for every test."""
    return np.random.default_rng(20240517)
