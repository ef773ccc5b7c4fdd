"""Parameters of the estimators: each is one field with its default and its allowed values.

    tol: float = option(1e-3, POSITIVE)

`estimator` generates from the fields the constructor and the constraints that scikit-learn checks before a fit, and
completes the docstring. A subclass that changes only a default writes a plain field; the allowed values are inherited.
One that finds a parameter of its base class by itself takes it out of the constructor: `C: Any = found_by_fit("C_")`.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from dataclasses import fields as dataclass_fields
from numbers import Integral, Real
from typing import Any, TypeVar, dataclass_transform

from widemargin._sklearn import Interval, StrOptions

POSITIVE = Interval(Real, 0.0, None, closed="neither")
POSITIVE_OR_INFINITE = Interval(Real, 0.0, None, closed="right")
NOT_NEGATIVE = Interval(Real, 0.0, None, closed="left")
FINITE = Interval(Real, None, None, closed="neither")
SHARE = Interval(Real, 0.0, 1.0, closed="right")

Class = TypeVar("Class", bound=type[Any])


def option(default: Any, *allowed: Any, kw_only: bool = True) -> Any:
    """Return the field of a parameter: its default, and constraints in scikit-learn's notation."""
    return field(default=default, kw_only=kw_only, metadata={"allowed": allowed})


def found_by_fit(attribute: str, otherwise: Any = None) -> Any:
    """Return the field of a parameter of a base class that `fit` finds: it reads as the fitted attribute.

    otherwise : its value where the attribute is not set; None raises AttributeError there
    """

    def value(machine: Any) -> Any:
        found = vars(machine).get(attribute, otherwise)
        if found is None:
            raise AttributeError(f"{type(machine).__name__} finds {attribute} by itself: call fit first.")
        return found

    return field(init=False, default=property(value))


def whole(least: int) -> Interval:
    """Return the constraint for integers not smaller than `least`."""
    return Interval(Integral, least, None, closed="left")


def one_of(*words: str) -> StrOptions:
    """Return the constraint for one of the given strings."""
    return StrOptions(set(words))


@dataclass_transform(kw_only_default=True, eq_default=False)
def estimator(kind: Class) -> Class:
    """Class decorator: generate constructor and scikit-learn's constraints from the fields, complete the docstring.

    A line `... tol, max_iter` in the docstring is replaced by the bases' paragraphs about these names.
    """
    dataclass(kw_only=True, eq=False, repr=False)(kind)  # modifies the class in place
    declared = [vars(base).get("__dataclass_fields__", {}) for base in reversed(kind.__mro__)]
    fields = [(name, each) for base in declared for name, each in base.items() if "allowed" in each.metadata]
    found = {each.name for each in dataclass_fields(kind) if not each.init}
    kind._parameter_constraints = {name: list(each.metadata["allowed"]) for name, each in fields if name not in found}
    unknown = {each.name for each in dataclass_fields(kind)} - set(kind._parameter_constraints) - found
    if unknown:
        raise TypeError(f"{kind.__name__}: every field is a parameter and needs option(...); got {sorted(unknown)}.")
    known: dict[str, str] = {}
    for base in reversed(kind.__mro__[1:]):
        paragraphs = re.finditer(r"^(\w+)(, \w+)*( : .*)?(\n    .*)*$", inspect.cleandoc(base.__doc__ or ""), re.M)
        known |= {paragraph[1]: paragraph[0] for paragraph in paragraphs}

    def inherited(line: re.Match) -> str:
        return "\n".join(known[name] for name in line[1].split(", "))

    kind.__doc__ = re.sub(r"^\.\.\. (.+)$", inherited, inspect.cleandoc(kind.__doc__ or ""), flags=re.M)
    return kind
