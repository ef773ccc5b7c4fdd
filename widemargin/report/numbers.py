"""Formatting of numbers for readers."""

from __future__ import annotations

import numpy as np


def number(value: float, digits: int = 4) -> str:
    """A number for readers: few digits, thousands separated, exponents where it is very large or small.

    Examples
    --------
    >>> number(1234567.3), number(0.123456), number(1.5e-7), number(float("nan"))
    ('1,234,567', '0.1235', '1.5e-07', 'not known')
    """
    if value != value:
        return "not known"
    if isinstance(value, int) or (float(value).is_integer() and abs(value) < 1e9):
        return f"{int(value):,}"
    return f"{value:,.0f}" if 10**digits <= abs(value) < 1e9 else f"{value:.{digits}g}"


def percent(share: float) -> str:
    """A share as a percentage with the digits that matter.

    Examples
    --------
    >>> percent(0.9234), percent(1.0), percent(0.00012)
    ('92.3 %', '100.0 %', '0.012 %')
    """
    if share != share:
        return "not known"
    value = 100 * share
    if 0 < value < 1:
        return f"{value:.2g} %"
    return f"{value:.2f} %" if 99 < value < 100 else f"{value:.1f} %"


def shown(value: object) -> str:
    """A label, a parameter or a number."""
    return number(float(value)) if isinstance(value, float | np.floating) else str(value)
