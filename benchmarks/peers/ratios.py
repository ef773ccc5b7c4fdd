"""Reading the records of the comparison: whose time counts, and as how many times ours.

A ratio is the peer's median time over ours, both in their best formats. It counts when our answer is exact and the
peer's is exact or near; a time-out counts with its limit, as a lower bound. A wrong answer's time is no success and
does not count, nor does a crash.

Leaving wrong answers out can flatter us: peers tend to miss the tolerance on the hard problems with large C, where our
lead can be smaller. So means are given both ways (`with_wrong`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from benchmarks.peers.libraries import OURS

SUCCESS = ("exact", "near")


@dataclass(frozen=True)
class Ratio:
    """A peer's time over ours. `value` is None where there is none; `bound` marks a lower bound."""

    value: float | None
    status: str
    bound: bool = False

    @property
    def counts(self) -> bool:
        return self.value is not None and (self.status in SUCCESS or self.bound)


def best_run(record: dict[str, Any], library: str, form: str | None = None) -> dict[str, Any] | None:
    """A library's run in its best format, or in the format named."""
    for run in record["runs"]:
        if run["library"] == library and (run["best"] if form is None else run["format"] == form):
            return run
    return None


def ratio(record: dict[str, Any], peer: str, form: str | None = None) -> Ratio | None:
    """The ratio of one problem; None where the peer did not take part."""
    mine, theirs = best_run(record, OURS, form), best_run(record, peer, form)
    if theirs is None or mine is None:
        return None
    if mine["status"] != "exact" or mine["seconds"] is None:
        return Ratio(None, "ours " + mine["status"])
    if theirs["seconds"] is None:
        return Ratio(None, theirs["status"])
    return Ratio(theirs["seconds"] / mine["seconds"], theirs["status"], bound=theirs["status"] == "time-out")


def ratios(
    records: Iterable[dict[str, Any]], peer: str, form: str | None = None, with_wrong: bool = False
) -> list[float]:
    """The ratios that count over several problems; `with_wrong` adds the times of wrong answers."""
    found = [one for record in records if (one := ratio(record, peer, form)) is not None and one.value is not None]
    return [one.value for one in found if one.value and (one.counts or (with_wrong and one.status == "wrong"))]


def geometric_mean(values: list[float]) -> float | None:
    """None of nothing."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None
