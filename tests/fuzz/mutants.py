"""Mutants of the proof, each of which the attack must kill: `python -m tests.fuzz.mutants`.

A mutant leaves one term of the bounds out. It is killed when a certificate becomes false, or a bound wrong, that the
code as it is gets right on the same seed. Exit code 1 if one survives.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import widemargin.gram.gram as gram
import widemargin.gram.source as source
import widemargin.kernels.errors as errors
import widemargin.kernels.gaussian as gaussian
from tests.fuzz.attack import LARGE_EVERY, attack, draw
from widemargin.gram.scores import Scores
from widemargin.kernels.samples.dense import DenseRows
from widemargin.solvers.solution import Solution
from widemargin.solvers.state import State

SEEDS = [*range(LARGE_EVERY - 1, 60 * LARGE_EVERY, LARGE_EVERY), *(s for s in range(600) if s % LARGE_EVERY < 9)]
MOST_SEEDS = 4000  # that are looked through for a shape


@contextmanager
def patched(owner: Any, **names: Any) -> Iterator[None]:
    with mock.patch.multiple(owner, **names):
        yield


def zero_terms(make: Callable[..., errors.ErrorTerms]) -> Callable[..., errors.ErrorTerms]:
    """Terms that state no error at all."""

    def without(*arguments: Any) -> errors.ErrorTerms:
        terms = make(*arguments)
        return errors.ErrorTerms(np.zeros_like(terms.left), np.zeros_like(terms.right), terms.size)

    return without


def exact_scores(*arguments: Any) -> Scores:
    """Float64 values counted as exact."""
    values = KERNEL_SCORES(*arguments).values
    return Scores(values, np.zeros(len(values)))


@contextmanager
def exact_sums() -> Iterator[None]:
    """Additions in float64 counted as exact, wherever they are counted."""
    with patched(errors, rounding_of_sum=lambda n_terms: 0.0), patched(gram, rounding_of_sum=lambda n_terms: 0.0):
        yield


def wrong_way(self: gaussian.Gaussian, samples: Any) -> errors.ErrorTerms:
    """Errors of direct differences stated for matrix products."""
    if isinstance(samples, DenseRows):
        return self._by_differences(samples, np.sqrt(samples.squares))
    return GAUSSIAN_ERRORS(self, samples)


KERNEL_SCORES, GAUSSIAN_ERRORS = source.kernel_scores, gaussian.Gaussian.errors
JOIN = State.join


def forget_parts(self: State, part: State, variables: Any, keep: Any = None) -> Any:
    """Steps of a shrunken problem are not counted."""
    before = self.moved.copy(), self.rows_added
    moved = JOIN(self, part, variables, keep)
    if part.rows_added:
        self.moved, self.rows_added = before
    return moved


class Mutant(NamedTuple):
    """A change of the library, and the shape of data made to kill it; without one, all shapes are tried."""

    change: Callable[[], Any]
    shape: str = ""

    def seeds(self) -> Iterator[int]:
        """Some hundred seeds, every one with the shape."""
        if not self.shape:
            return iter(SEEDS)
        return (seed for seed in range(MOST_SEEDS) if draw(seed).shape == self.shape)


MUTANTS = {
    "bound = 0": Mutant(
        lambda: patched(errors, additive=zero_terms(errors.additive), multiplicative=zero_terms(errors.multiplicative))
    ),
    "no term for the data's rounding": Mutant(lambda: patched(gaussian, is_rounded=lambda samples: False)),
    "no term for float64 sums": Mutant(exact_sums, "bits"),
    "error of the wrong way to evaluate": Mutant(lambda: patched(gaussian.Gaussian, errors=wrong_way), "far_wide"),
    "steps of shrunken problems not counted": Mutant(lambda: patched(State, join=forget_parts), "late_crowds"),
    "error not carried into a resumed solve": Mutant(
        lambda: patched(Solution, scores=property(lambda self: Scores(self.function, np.zeros(len(self.function)))))
    ),
    "float64 values counted as exact": Mutant(lambda: patched(source, kernel_scores=exact_scores)),
}


def killer(mutant: Mutant) -> tuple[int, str] | None:
    """The first seed that kills a mutant, and how."""
    for seed in mutant.seeds():
        with mutant.change():
            found = [text for text in attack(seed).findings if text.startswith(("FALSE", "WRONG"))]
        if found and not any(text.startswith(("FALSE", "WRONG")) for text in attack(seed).findings):
            return seed, found[0]
    return None


def main() -> int:
    warnings.simplefilter("ignore")
    survivors = 0
    for name in sys.argv[1:] or MUTANTS:
        found = killer(MUTANTS[name])
        survivors += found is None
        print(f"{name:<42} {'SURVIVES' if found is None else f'killed by seed {found[0]}: {found[1]}'}", flush=True)
    return survivors > 0


if __name__ == "__main__":
    sys.exit(main())
