"""Results as Markdown: targets, one table per group of jobs, what was left out."""

from __future__ import annotations

from typing import Any

from benchmarks.peers.driver import TAIL
from benchmarks.peers.report import machine_text, number, table
from benchmarks.tuning.choosing import GRID, SVCCV
from benchmarks.tuning.rounds import ratio
from benchmarks.tuning.searchers import OURS, TITLES
from benchmarks.tuning.targets import group, targets
from benchmarks.tuning.torchkm_workload import ACCURACY, PUBLISHED, TORCHKM

GRID_TITLES = {
    "grid": "LIBSVM's grid: 11 x 10 cells, five folds",
    "covtype": "covtype: 10 x 10 cells, five folds",
    "svr": "SVR: 5 x 5 x 3 cells, five folds",
    "letter": "letter, one against one: 5 x 5 cells, three folds",
}


def markdown(results: dict[str, Any]) -> str:
    """The whole report."""
    records, quick = results.get("records", {}), results.get("quick", False)
    parts = [
        machine_text(results["machine"], results) if "machine" in results else "Not measured yet.",
        "### Targets\n\n" + target_table({} if quick else records),
        *(_grids(title, group(records, name)) for name, title in GRID_TITLES.items()),
        _workload(records, {} if quick else PUBLISHED),
        _torchkm(records),
        _svccv(group(records, "svccv")),
        _memory(group(records, "memory")),
        _trouble(results),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def target_table(records: dict[str, Any]) -> str:
    return table(["task", "floor", "aim", "measured", "verdict"], [target.cells() for target in targets(records)])


def _seconds(run: dict[str, Any]) -> str:
    """Median wall and CPU seconds, and of how many runs."""
    if run.get("wall"):
        return f"{number(run['wall'])} ({number(run['cpu'])}, {len(run['walls'])} runs)"
    return f"> {number(run.get('limit'))}" if run["status"] == "time-out" else run["status"]


def _params(best: dict[str, float] | None) -> str:
    return ", ".join(f"{name} {number(value)}" for name, value in best.items()) if best else ""


def _share(certified: dict[str, int] | None) -> str:
    return f"{certified['hold']} of {certified['fits']}" if certified else ""


def _times(value: float | None, run: dict[str, Any]) -> str:
    """A ratio; a lower bound for a time-out."""
    return "" if value is None else f"{'> ' if run['status'] == 'time-out' else ''}{number(value)}x"


def _grids(title: str, records: list[dict[str, Any]]) -> str:
    if not records:
        return ""
    rows = []
    for record in records:
        for name, run in record["runs"].items():
            compared = record["agreement"].get(name, {})
            rows.append(
                [
                    f"{record['set']}, {record['n']} x {record['d']}",
                    TITLES[name],
                    _seconds(run),
                    "" if name == OURS else _times(ratio(record["runs"], name), run),
                    "" if name == OURS else _times(ratio(record["runs"], name, "cpu"), run),
                    _params(run.get("best")),
                    f"{run['score']:.5f}" if "score" in run else "",
                    *(number(compared.get(key)) for key in ("best", "cells", "regret")),
                    _share(run.get("certified")),
                ]
            )
    head = ["set", "search", "wall s (CPU s)", "x ours", "x ours, CPU", "best cell", "its score"]
    head += ["best score less ours", "largest difference of a cell", "our cell below its best", "fits certified"]
    unit = "Differences of accuracy are in units of 1 / n_test of one fold, those of r2 as they are."
    return f"### {title}\n\n{unit}\n\n" + table(head, rows)


def _workload(records: dict[str, Any], times: dict[str, float]) -> str:
    """TorchKM's Tables 2 and 3, beside the published times."""
    rows = []
    for job, record in records.items():
        if not job.startswith(("mixture/", "files/")):
            continue
        run, published = record["runs"][OURS], times.get(job.removesuffix("-lambda"))
        accuracy = run["correct"] / run["tested"] if "tested" in run else None
        rows.append(
            [
                job,
                f"{record['n']} x {record['d']}",
                f"{number(record['C'][0])} to {number(record['C'][1])}",
                number(record["gamma"], 4),
                _seconds(run),
                number(published),
                number(published / run["wall"]) if published and run.get("wall") else "",
                number(run.get("best", {}).get("C")),
                number(run.get("error"), 4),
                number(run.get("excess")),
                _share(run.get("certified")),
                "" if accuracy is None else f"{accuracy:.4f} ({ACCURACY.get(job, float('nan')):.3f})",
            ]
        )
    head = ["task", "n x p", "C", "gamma", "wall s (CPU s)", "published s", "x ours", "C chosen", "error held out"]
    head += ["excess of the objective", "fits certified", "test accuracy (published)"]
    return "### TorchKM's workload: 50 values of C, ten folds, refit\n\n" + table(head, rows) if rows else ""


def _torchkm(records: dict[str, Any]) -> str:
    rows = []
    for record in (r for r in group(records, "torchkm") if "runs" in r):
        for name, run in record["runs"].items():
            kernel = run.get("kernel")
            rows.append(
                [
                    f"{record['n']} x {record['d']}, C {number(record['C'][0])} to {number(record['C'][1])}",
                    name,
                    _seconds(run) + (f" + kernel {number(kernel)}" if kernel else ""),
                    "" if name == OURS else _times(ratio(record["runs"], name), run),
                    number(run.get("best", {}).get("C")),
                    number(run.get("error"), 4),
                    number(run.get("excess")),
                    _share(run.get("certified")) or (run.get("note", "") if name == TORCHKM else ""),
                ]
            )
    head = [
        "n x p",
        "",
        "wall s (CPU s)",
        "x ours",
        "C chosen",
        "error held out",
        "excess of the objective",
        "certified",
    ]
    parts = [table(head, rows) if rows else ""]
    differences = records.get("torchkm/generator", {}).get("differences")
    if differences:
        worst = number(max(differences.values()))
        parts.append(f"Moments of the two generators differ by at most {worst} standard errors ({differences}).")
    return "### TorchKM itself on these cores\n\n" + "\n\n".join(filter(None, parts)) if any(parts) else ""


def _svccv(records: list[dict[str, Any]]) -> str:
    if not records:
        return ""
    rows = []
    for record in records:
        grid, own = record["runs"].get(GRID, {}), record["runs"].get(SVCCV, {})
        share = own["wall"] / grid["wall"] if own.get("wall") and grid.get("wall") else None
        accuracy = [number(run["correct"] / run["tested"], 4) if "tested" in run else "" for run in (grid, own)]
        cells = [number(grid.get("wall")), number(own.get("wall")), number(share), *accuracy]
        cells += [number(record.get("difference")), _params(grid.get("best")), _params(own.get("best"))]
        rows.append([f"{record['set']}, {record['n']} x {record['d']}", *cells])
    head = ["training half", "grid s", "SVCCV s", "share", "accuracy, grid", "SVCCV", "in standard errors"]
    return "### SVCCV against the whole grid\n\n" + table([*head, "grid's cell", "SVCCV's"], rows)


def _memory(records: list[dict[str, Any]]) -> str:
    rows = [
        [r["n"], "default" if r["cache_size"] is None else number(r["cache_size"])]
        + [number(r["extra_mb"]), number(r["allowed_mb"]), number(r["wall"])]
        for r in records
    ]
    head = ["n", "cache_size MB", "peak extra MB", "cache_size + O(n) MB", "s"]
    return "### Memory of our search\n\n" + table(head, rows) if rows else ""


def _trouble(results: dict[str, Any]) -> str:
    """What was left out, what failed, and what is not what it should be."""
    lines = [f"- {what}: {why}" for what, why in results.get("left_out", {}).items()]
    notes: dict[str, list[str]] = {}
    for job, record in results.get("records", {}).items():
        for name, run in record.get("runs", {"": record}).items():
            if run.get("status", "done") != "done":
                words = " ".join(run["message"].split())[-TAIL:]  # of a traceback the end says most
                lines.append(f"- {job}, {name}: {run['status']}, {words}")
            if run.get("note") and name != TORCHKM:
                notes.setdefault(run["note"], []).append(job)
    lines += [f"- {note} ({len(jobs)} runs); not counted as ours" for note, jobs in notes.items()]
    return "### Left out, failures\n\n" + ("\n".join(lines) or "None.")
