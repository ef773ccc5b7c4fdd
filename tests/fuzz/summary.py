"""The figures of all campaigns on a few lines, each beside what is aimed at."""

from __future__ import annotations

from collections.abc import Callable, Iterable

Figures = dict[str, float]  # of one campaign, by the names below

SUMMARY: dict[str, tuple[Callable[[Iterable[float]], float], str]] = {  # name -> how campaigns are joined, aim
    "machines tried": (sum, ""),
    "oracles disagreeing": (sum, "0"),
    "longest fit of 3,000 samples or fewer, CPU s": (max, "10 at most"),
    "files mutated": (sum, "100000"),
    "crashes": (sum, "0"),
    "crashes in other libraries, listed": (sum, ""),
    "tracebacks": (sum, "0"),
    "peak memory for a hostile file, MB": (max, "1024 at most"),
    "interruptions": (sum, "300"),
    "half-changed or unusable after them": (sum, "0"),
    "kills while saving": (sum, "100"),
    "whole files after them": (sum, "all"),
}


def closing(campaigns: Iterable[Figures]) -> str:
    """A line for each figure that one of the campaigns has."""
    of_all = list(campaigns)
    lines = [f"{'SUMMARY':<46} {'found':>8}   aim"]
    for name, (join, aim) in SUMMARY.items():
        found = [figures[name] for figures in of_all if name in figures]
        if found:
            lines.append(f"{name:<46} {join(found):>8.6g}   {aim}".rstrip())
    return "\n".join(lines)
