"""The function F = K b at the samples, together with a bound on its error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin.kernels.errors import SECOND_ORDER, UNIT, ErrorTerms, rounding_of_sum
from widemargin.linalg.arrays import Index, Vector


class Scores(NamedTuple):
    """F as computed, and |F - K b| <= error for each sample; infinite where the error is not known."""

    values: Vector
    error: Vector

    @classmethod
    def untracked(cls, values: Vector) -> Scores:
        return cls(values, np.full(len(values), np.inf))

    def improved(self, index: Index, fresh: Scores) -> Scores:
        """Return the scores with recomputed values at the samples where these are more accurate."""
        better = ~(fresh.error > self.error[index])
        values, error = self.values.copy(), self.error.copy()
        values[index[better]], error[index[better]] = fresh.values[better], fresh.error[better]
        return Scores(values, error)

    def scaled(self, factor: float) -> Scores:
        """Return the scores of all coefficients multiplied by a factor > 0; each product is rounded once."""
        if factor == 1.0:
            return self
        values = factor * self.values
        return Scores(values, SECOND_ORDER * (factor * self.error + UNIT * np.abs(values)))

    def error_after(self, errors: ErrorTerms, moved: Vector, n_rows: int) -> Vector:
        """Error of F after `n_rows` rows were added to it one by one, with changes of sizes `moved` in all.

        Every addition also rounds in proportion to the initial value.
        """
        if not n_rows:
            return self.error
        share = SECOND_ORDER * rounding_of_sum(n_rows + 5)
        return self.error + share * (np.abs(self.values) + self.error) + errors.of_sums(moved, n_rows)
