"""Values of options: what is accepted, what is said otherwise, and what a shell may complete."""

from __future__ import annotations

import math
from typing import Any

import click
from click.shell_completion import CompletionItem


class Named(click.ParamType):
    """A word of a list, or its number in LIBSVM's."""

    name = "name"

    def __init__(self, numbered: tuple[str, ...], more: tuple[str, ...] = ()) -> None:
        self.numbered, self.more = numbered, more

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> str:
        if value.isdigit() and int(value) < len(self.numbered):
            return self.numbered[int(value)]
        if value not in self.numbered + self.more:
            self.fail(f"{value!r} is unknown, expected {self.listed()}", parameter, context)
        return value

    def listed(self) -> str:
        """The words with their numbers, as shown in help and errors."""
        return ", ".join([f"{number} {word}" for number, word in enumerate(self.numbered)] + list(self.more))

    def shell_complete(self, context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        return [CompletionItem(word) for word in self.numbered + self.more if word.startswith(begun)]


class Switch(click.Choice):
    """LIBSVM's 0 or 1."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> bool:
        return super().convert(value, parameter, context) == "1"


class Number(click.ParamType):
    """A number, not nan; above or from `least` on where given."""

    name = "number"

    def __init__(self, least: float = -math.inf, *, above: bool = False, words: tuple[str, ...] = ()) -> None:
        self.least, self.above, self.words = least, above, words

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> float | str:
        if value in self.words:
            return value
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if math.isnan(number):
            expected = " or ".join(["a number", *self.words])
            self.fail(f"{value!r} is not a number, expected {expected}", parameter, context)
        if number < self.least or (self.above and number == self.least):
            relation = "above" if self.above else "of at least"
            self.fail(f"{value} is too small, expected a number {relation} {self.least:g}", parameter, context)
        return number

    def shell_complete(self, context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        return [CompletionItem(word) for word in self.words if word.startswith(begun)]


class Whole(click.ParamType):
    """A whole number, not below `least`."""

    name = "number"

    def __init__(self, least: int) -> None:
        self.least = least

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> int:
        try:
            number = int(value)
        except ValueError:
            self.fail(f"{value!r} is not a whole number, expected one of at least {self.least}", parameter, context)
        if number < self.least:
            self.fail(f"{value} is too small, expected at least {self.least}", parameter, context)
        return number


class LogRange(click.ParamType):
    """grid.py's `begin,end,step` of exponents of two.

    Examples
    --------
    >>> LogRange().convert("-1,3,2", None, None)
    [0.5, 2.0, 8.0]
    """

    name = "begin,end,step"
    MOST = 1000  # values; a tiny step is a slip of the fingers

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> list[float]:
        if isinstance(value, list):
            return value
        try:
            begin, end, step = (float(part) for part in value.split(","))
            count = math.floor((end - begin) / step + 1e-9) + 1  # the end is included, whatever its rounding
        except (ValueError, ZeroDivisionError, OverflowError):
            self.fail(f"{value!r} is not a range, expected begin,end,step such as -5,15,2", parameter, context)
        if not 1 <= count <= self.MOST:
            self.fail(f"{value!r} has {max(count, 0)} values, expected 1 to {self.MOST}", parameter, context)
        return [2.0 ** (begin + number * step) for number in range(count)]


SWITCH = Switch(["0", "1"])
POSITIVE = Number(0.0, above=True)
FROM_ZERO = Number(0.0)
ANY_NUMBER = Number()
FILE = click.Path()  # what is wrong with a file is said by the readers; the type is for completion in shells
