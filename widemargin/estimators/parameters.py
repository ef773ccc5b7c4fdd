"""Parameters of the estimators: each is one field with its default and the values it may have.

    tol: float = option(1e-3, POSITIVE)

`estimator` makes the constructor of the fields and completes the docstring, `Constraints` is what scikit-learn checks
before a fit. A subclass that changes the default alone writes a plain field, and the allowed values stay.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from functools import cache
from numbers import Integral, Real
from typing import Any, TypeVar, dataclass_transform

from widemargin._sklearn import Interval, StrOptions

POSITIVE = Interval(Real, 0.0, None, closed="neither")
POSITIVE_OR_INFINITE = Interval(Real, 0.0, None, closed="right")
NOT_NEGATIVE = Interval(Real, 0.0, None, closed="left")
FINITE = Interval(Real, None, None, closed="neither")
SHARE = Interval(Real, 0.0, 1.0, closed="right")

Class = TypeVar("Class", bound=type)


def option(default: Any, *allowed: Any, kw_only: bool = True) -> Any:
    """A parameter of an estimator: its default, and constraints as scikit-learn writes them."""
    return field(default=default, kw_only=kw_only, metadata={"allowed": allowed})


def whole(least: int) -> Interval:
    """Whole numbers from `least` on."""
    return Interval(Integral, least, None, closed="left")


def one_of(*words: str) -> StrOptions:
    """One of some words."""
    return StrOptions(set(words))


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(option,))
def estimator(kind: Class) -> Class:
    """Class decorator: a constructor with the fields as keywords, and a docstring completed from those of the bases.

    A line `... tol, max_iter` in the docstring stands for the paragraphs about these names in the bases' docstrings.
    """
    kind = dataclass(kw_only=True, eq=False, repr=False)(kind)
    known: dict[str, str] = {}
    for base in reversed(kind.__mro__[1:]):
        paragraphs = re.finditer(r"^(\w+)(, \w+)*( : .*)?(\n    .*)*$", inspect.cleandoc(base.__doc__ or ""), re.M)
        known |= {paragraph[1]: paragraph[0] for paragraph in paragraphs}

    def inherited(line: re.Match) -> str:
        return "\n".join(known[name] for name in line[1].split(", "))

    kind.__doc__ = re.sub(r"^\.\.\. (.+)$", inherited, inspect.cleandoc(kind.__doc__ or ""), flags=re.M)
    return kind


class Constraints:
    """`_parameter_constraints` of scikit-learn, read off the fields of a class."""

    def __get__(self, estimator: Any, kind: type) -> dict[str, list[Any]]:
        return constraints_of(kind)


@cache
def constraints_of(kind: type) -> dict[str, list[Any]]:
    """Constraints of all parameters of an estimator class."""
    declared = [vars(parent).get("__dataclass_fields__", {}) for parent in reversed(kind.__mro__)]
    fields = [(name, each) for parent in declared for name, each in parent.items() if "allowed" in each.metadata]
    return {name: list(each.metadata["allowed"]) for name, each in fields}
