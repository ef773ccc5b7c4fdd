"""Blocks so small that problems of test size take several rounds."""

import pytest

from widemargin.solvers import block


def solve_in_small_blocks(
    patch: pytest.MonkeyPatch, whole: int = 10, first: int = 8, smallest: int = 16, largest: int = 32
) -> None:
    """Sizes of the block solver until the patch is undone."""
    patch.setattr(block, "WHOLE", whole)
    patch.setattr(block, "FIRST_BLOCK", first)
    patch.setattr(block, "SMALLEST_CAP", smallest)
    patch.setattr(block, "USUAL_CAP", largest)
    patch.setattr(block, "LARGEST_CAP", largest)
