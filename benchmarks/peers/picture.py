"""Pictures of the results: how many times longer each peer takes, time against n, and memory during a long fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.peers.floors import PEERS
from benchmarks.peers.libraries import OURS, ScikitLearn
from benchmarks.peers.ratios import ratio

INCHES_PER_PROBLEM = 0.24
SPREAD = 0.1  # of a line, between peers: several stopped at the same limit would hide one another
COLOURS = dict(zip(PEERS, ("#1f77b4", "#d95f02", "#7f7f7f", "#7570b3", "#1b9e77")))


def draw_ratios(records: list[dict[str, Any]], path: Path) -> None:
    """Time over ours on a logarithmic scale: dots count, arrows are lower bounds (time-outs), crosses wrong answers."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    height = 1.8 + INCHES_PER_PROBLEM * max(1, len(records))
    figure, axes = plt.subplots(figsize=(9, height), layout="constrained")
    axes.set_xscale("log")
    shown = set()
    for place, record in enumerate(records):
        for number, peer in enumerate(PEERS):
            found = ratio(record, peer)
            if found is None or found.value is None:
                continue
            marker = ">" if found.bound else "o" if found.counts else "x"
            axes.plot(
                found.value,
                place + SPREAD * (number - len(PEERS) // 2),
                marker,
                color=COLOURS[peer],
                markersize=6,
                alpha=0.85,
            )
            shown.add(peer)
    axes.axvline(1.0, color="black", linewidth=1)
    axes.xaxis.set_major_formatter("{x:g}x")
    axes.set_yticks(range(len(records)), [f"{r['problem']['name']}  (n={r['n']})" for r in records], fontsize=7)
    axes.set_ylim(len(records) - 0.5, -0.5)
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, 0.8), max(high, 12.0))
    axes.grid(axis="x", which="both", alpha=0.25)
    axes.grid(axis="y", alpha=0.12)
    axes.set_xlabel("training time over widemargin's (right of 1: widemargin is faster)")
    handles = [Line2D([], [], color=COLOURS[p], marker="o", linestyle="", label=p) for p in PEERS if p in shown]
    marks = (("o", "exact answer"), (">", "stopped: at least this"), ("x", "wrong answer or approximation"))
    handles += [Line2D([], [], color="black", marker=mark, linestyle="", label=text) for mark, text in marks]
    figure.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=8, frameon=False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_scaling(groups: list[dict[str, Any]], path: Path) -> None:
    """Fit time against n, both axes logarithmic, with the fitted exponents."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    groups = [group for group in groups if group.get("points")]
    figure, all_axes = plt.subplots(1, len(groups), figsize=(5.2 * len(groups), 4), squeeze=False, layout="constrained")
    for axes, group in zip(all_axes[0], groups):
        for library, colour in ((OURS, "black"), (ScikitLearn.name, COLOURS[ScikitLearn.name])):
            pairs = [(p["n"], p[library]) for p in group["points"] if p.get(library)]
            if not pairs:
                continue
            power = group["exponents"].get(library)
            label = library + ("" if power is None else f", time ~ n^{power:.2f}")
            axes.loglog(*zip(*pairs), "o-", color=colour, label=label)
        axes.set_title(group["problem"], fontsize=10)
        axes.set_xlabel("n")
        axes.set_ylabel("seconds")
        axes.grid(which="both", alpha=0.25)
        axes.legend(fontsize=8, frameon=False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_memory(record: dict[str, Any], path: Path) -> None:
    """Resident memory during the fit of a long problem, as it was sampled from outside."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    seconds, megabytes = zip(*record["curve"])
    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    axes.plot(seconds, megabytes, color="black", linewidth=1.2)
    axes.set_xlim(0, max(seconds))
    axes.set_ylim(0, 1.1 * max(megabytes))
    axes.set_xlabel("seconds")
    axes.set_ylabel("resident memory, MB")
    axes.set_title(f"{record['problem']['name']}, n = {record['n']:,}", fontsize=10)
    axes.grid(alpha=0.25)
    figure.savefig(path, dpi=130)
    plt.close(figure)
