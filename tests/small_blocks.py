"""Working sets so small that problems of test size take several rounds."""

from dataclasses import replace
from typing import Any

import pytest

from widemargin.solvers import tuning


def tune(patch: pytest.MonkeyPatch, **values: Any) -> None:
    """Other numbers for the block solver (`BlockTuning`), until the patch is undone."""
    patch.setattr(tuning, "DEFAULT", replace(tuning.DEFAULT, **values))


def solve_in_small_blocks(
    patch: pytest.MonkeyPatch, single: int = 10, first: int = 8, smallest: int = 16, largest: int = 32
) -> None:
    """Sizes of working sets, until the patch is undone."""
    tune(patch, single=single, first=first, smallest=smallest, usual=largest, largest=largest)
