"""Measured numbers: a line of JSON per turn, and their medians."""

from __future__ import annotations

import json
import statistics
from pathlib import Path


def add(folder: Path, name: str, **numbers: float) -> None:
    """Append the numbers of one turn, and print them."""
    line = json.dumps({key: round(value, 4) for key, value in numbers.items()})
    with open(folder / f"{name}.jsonl", "a", encoding="utf-8") as stream:
        stream.write(line + "\n")
    print(f"{name}: {line}", flush=True)


def medians(folder: Path, name: str) -> dict[str, float]:
    """Return the median of each number over all turns."""
    lines = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    return {key: statistics.median(line[key] for line in lines) for key in lines[0]}


def report(folder: Path) -> None:
    """Print the medians of all measurements and the ratios that matter."""
    for path in sorted(folder.glob("*.jsonl")):
        found = medians(folder, path.stem)
        print(f"{path.stem}: median of {len(path.read_text(encoding='utf-8').splitlines())} turns: {found}")
        if path.stem == "speed":
            local, cluster = found["local 1"] / found["local 2"], found["1 x 1"] / found["2 x 1"]
            print(f"    1 x 1 over local, one thread: {found['1 x 1'] / found['local 1']:.2f} (at most 1.15)")
            print(f"    two over one: local {local:.2f}, cluster {cluster:.2f}: {cluster / local:.0%} (at least 90 %)")
        elif path.stem == "search":
            local, cluster = found["loky 1"] / found["loky 2"], found["dask 1"] / found["dask 2"]
            print(
                f"    two over one: processes {local:.2f}, workers {cluster:.2f}: {cluster / local:.0%} (at least 90 %)"
            )
