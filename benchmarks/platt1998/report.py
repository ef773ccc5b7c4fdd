"""The results as a Markdown page, a JSON file with machine and versions, and one log-log plot per experiment."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from benchmarks.platt1998.figures import EXPERIMENTS, Experiment
from benchmarks.platt1998.trials import Cell

PACKAGES = ("widemargin", "numpy", "scipy", "numba", "scikit-learn")
CONTESTANTS = ("smo", "chunking", "default", "sklearn")
TITLES = {"smo": "SMO of 1998", "chunking": "chunking", "default": "widemargin", "sklearn": "scikit-learn"}
COLOURS = {"smo": "#0072B2", "chunking": "#D55E00", "default": "#009E73", "sklearn": "#CC79A7"}  # Okabe and Ito

Sources = dict[str, dict[int, str]]  # experiment name -> size -> where the data come from
Rows = dict[str, dict[str, Cell]]  # experiment name -> "size/contestant" or "size/contestant/dense"


def key(size: int, contestant: str, dense: bool = False) -> str:
    """Name of a cell."""
    return f"{size}/{contestant}" + ("/dense" if dense else "")


def exponent(sizes: list[int], seconds: list[float | None]) -> float | None:
    """Slope of the line through log time against log size; None below three points."""
    points = [(n, s) for n, s in zip(sizes, seconds, strict=True) if s]
    if len(points) < 3:
        return None
    n, s = np.array(points, float).T
    return float(np.polyfit(np.log(n), np.log(s), 1)[0])


def machine() -> dict[str, str | int]:
    """What the figures depend on."""
    facts: dict[str, str | int] = {
        "python": platform.python_version(),
        "system": platform.system(),
        "cores": os.cpu_count() or 1,
    }
    cpu = Path("/proc/cpuinfo")
    models = (
        [line.split(":", 1)[1].strip() for line in cpu.read_text().splitlines() if "model name" in line]
        if cpu.exists()
        else []
    )
    facts["processor"] = models[0] if models else platform.processor()
    for name in PACKAGES:
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            facts[name] = "from source"
    return facts


def show(cell: Cell | None) -> str:
    """Seconds of a cell, or why there are none."""
    if cell is None or cell.ended == "left out":
        return "-"
    if cell.seconds is None and cell.limit is not None:
        return f"> {cell.limit:g}"
    if cell.seconds is None:
        return f"N/A ({cell.ended.lower().replace('_', ' ')})"
    return f"{cell.seconds:.3g}"


def platt(value: float | None) -> str:
    return "N/A" if value is None else f"{value:g}"


def main_table(e: Experiment, cells: dict[str, Cell], sources: dict[int, str]) -> list[str]:
    """Times and support vectors of one experiment beside Platt's."""
    lines = [
        "| n | data | SMO of 1998 | Platt's SMO | chunking | Platt's chunking | widemargin | scikit-learn "
        "| non-bound: SMO, widemargin "
        "(Platt) | bound: SMO, widemargin (Platt) |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for i, n in enumerate(e.sizes):
        if n not in sources:
            continue
        found = {c: cells.get(key(n, c)) for c in CONTESTANTS}

        def counts(what: str, own: int, found: dict[str, Cell | None] = found) -> str:
            cells = [found[c] for c in ("smo", "default")]
            known = [getattr(one, what) if one is not None and one.seconds else None for one in cells]
            values = ["-" if count is None else count for count in known]  # some runs recorded times only
            return f"{values[0]}, {values[1]} ({own})"

        lines.append(
            f"| {n:,} | {sources[n]} | {show(found['smo'])} | {platt(e.smo[i])} | {show(found['chunking'])} "
            f"| {platt(e.chunking[i])} | "
            f"{show(found['default'])} | {show(found['sklearn'])} | {counts('non_bound', e.non_bound[i])} | "
            f"{counts('bound', e.bound[i])} |"
        )
    slopes = {c: exponent(list(e.sizes), [_seconds(cells, n, c) for n in e.sizes]) for c in CONTESTANTS}
    text = {c: "-" if s is None else f"{s:.1f}" for c, s in slopes.items()}
    lines.append(
        f"| time ~ n^k, k = | | {text['smo']} | {e.smo_exponent} | {text['chunking']} | {e.chunking_exponent} "
        f"| {text['default']} | "
        f"{text['sklearn']} | | |"
    )
    return lines


def dense_table(e: Experiment, cells: dict[str, Cell], sources: dict[int, str]) -> list[str]:
    """Sparse against non-sparse dot products."""
    lines = [
        "| n | SMO sparse | SMO dense | ratio (Platt's) | chunking sparse | chunking dense | ratio (Platt's) |",
        "|---|---|---|---|---|---|---|",
    ]
    for i, n in enumerate(e.sizes):
        if n not in sources:
            continue
        parts = [f"| {n:,} "]
        for contestant, sparse_time, dense_time in (
            ("smo", e.smo, e.smo_dense),
            ("chunking", e.chunking, e.chunking_dense),
        ):
            sparse_cell, dense_cell = cells.get(key(n, contestant)), cells.get(key(n, contestant, True))
            one, two = _seconds(cells, n, contestant), _seconds(cells, n, contestant, True)
            ratio = f"{two / one:.1f}" if one and two else "-"
            theirs = f"{dense_time[i] / sparse_time[i]:.1f}" if sparse_time[i] and dense_time[i] else "N/A"
            parts.append(f"| {show(sparse_cell)} | {show(dense_cell)} | {ratio} ({theirs}) ")
        lines.append("".join(parts) + "|")
    return lines


def _seconds(cells: dict[str, Cell], n: int, contestant: str, dense: bool = False) -> float | None:
    cell = cells.get(key(n, contestant, dense))
    return cell.seconds if cell is not None else None


def page(rows: Rows, sources: Sources, limit: float | None, notes: str) -> str:
    """The whole Markdown page."""
    facts = machine()
    lines = [
        "# Platt's benchmark of 1998, run again",
        "",
        notes.strip(),
        "",
        f"Machine: {facts['processor']}, {facts['cores']} cores; Python {facts['python']}, "
        + ", ".join(f"{name} {facts[name]}" for name in PACKAGES)
        + f". Time limit per cell: {'none' if limit is None else f'{limit:g} s'}; "
        "`-` was left out because a smaller size showed that "
        "it would not end in time.",
    ]
    for e in EXPERIMENTS:
        if e.name not in rows:
            continue
        lines += [
            "",
            f"## {e.title}",
            "",
            f"Table {e.table} of section 3.",
            "",
            *main_table(e, rows[e.name], sources[e.name]),
        ]
        if e.dense_table is not None and any(name.endswith("/dense") for name in rows[e.name]):
            lines += [
                "",
                f"Sparse against non-sparse (table {e.dense_table}):",
                "",
                *dense_table(e, rows[e.name], sources[e.name]),
            ]
        lines += ["", f"![time against size](images/platt1998-{e.name}.png)"]
    return "\n".join(lines) + "\n"


def draw(rows: Rows, folder: Path) -> None:
    """Log-log plots of time against size, Platt's own figures dashed."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    for e in EXPERIMENTS:
        if e.name not in rows:
            continue
        figure, ax = plt.subplots(figsize=(6.0, 4.0), dpi=80)
        for contestant in CONTESTANTS:
            points = [(n, s) for n in e.sizes if (s := _seconds(rows[e.name], n, contestant))]
            if points:
                ax.loglog(*zip(*points, strict=True), "o-", color=COLOURS[contestant], label=TITLES[contestant])
        for name, seconds in (("smo", e.smo), ("chunking", e.chunking)):
            points = [(n, s) for n, s in zip(e.sizes, seconds, strict=True) if s]
            ax.loglog(
                *zip(*points, strict=True), "x--", color=COLOURS[name], alpha=0.6, label=f"{TITLES[name]}, Platt 1998"
            )
        ax.set(xlabel="training set size", ylabel="CPU seconds", title=e.title)
        ax.grid(True, which="both", alpha=0.2)
        ax.legend(fontsize=7)
        figure.tight_layout()
        figure.savefig(folder / f"platt1998-{e.name}.png")
        plt.close(figure)


def read(folder: Path) -> tuple[Rows, Sources]:
    """Results of earlier runs in the same folder, so that experiments can be run one at a time."""
    path = folder / "platt1998.json"
    if not path.exists():
        return {}, {}
    content = json.loads(path.read_text(encoding="utf-8"))
    rows = {name: {cell: Cell(**value) for cell, value in cells.items()} for name, cells in content["results"].items()}
    return rows, {name: {int(n): source for n, source in found.items()} for name, found in content["sources"].items()}


def write(folder: Path, rows: Rows, sources: Sources, limit: float | None, notes: str) -> None:
    """Page, JSON and plots."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "platt1998.md").write_text(page(rows, sources, limit, notes), encoding="utf-8")
    results = {name: {cell: asdict(value) for cell, value in cells.items()} for name, cells in rows.items()}
    content = {"machine": machine(), "limit": limit, "sources": sources, "results": results}
    (folder / "platt1998.json").write_text(json.dumps(content, indent=1), encoding="utf-8")
    draw(rows, folder / "images")
