"""Results as Markdown: floors, the table of problems, what went wrong, the other measurements, details.

    python -m benchmarks.peers.report RESULTS.json [--into docs/benchmarks.md]

With --into the text between the two marks of that file is replaced; otherwise it is printed.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.peers.floors import PEERS, floors
from benchmarks.peers.libraries import OURS
from benchmarks.peers.ratios import best_run, ratio

BEGIN, END = "<!-- results begin -->", "<!-- results end -->"
SHORT = {"scikit-learn": "sklearn", "scikit-learn-intelex": "sklearnex", "widemargin": "ours"}


def markdown(results: dict[str, Any], pictures: tuple[str, ...] = ()) -> str:
    """The whole report."""
    parts = [
        machine_text(results["machine"], results.get("arguments", {})),
        *(f"![{Path(name).stem.replace('-', ' ')}]({name})" for name in pictures),
        "### Floors\n\n" + floor_table(results),
        "### Problems\n\n" + problem_table(results.get("problems", [])),
        _trouble(results),
        _small(results.get("small", {})),
        _prediction(results.get("prediction", [])),
        _start_up(results.get("start_up", {})),
        _memory(results.get("memory", [])),
        _scaling(results.get("scaling", [])),
        _threads(results.get("threads", [])),
        "### Details of every run\n\n" + detail_table(results.get("problems", [])),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def table(head: list[str], rows: list[list[Any]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def number(value: float | None, digits: int = 3) -> str:
    """A figure to a few digits, without an exponent where it is not needed; "" for none."""
    if value is None or value != value:
        return ""
    if value and (abs(value) >= 1e6 or abs(value) < 1e-3):
        return f"{value:.{digits - 1}e}"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.{digits}g}"


def floor_table(results: dict[str, Any]) -> str:
    return table(
        ["floor", "wanted", "measured", "verdict"],
        [[floor.name, floor.wanted, floor.measured, floor.verdict] for floor in floors(results)],
    )


def peer_cell(record: dict[str, Any], peer: str) -> str:
    """Time and ratio of a peer; "wrong" answers keep their time in brackets, time-outs are lower bounds."""
    run, found = best_run(record, peer), ratio(record, peer)
    if run is None or found is None:
        return ""
    if run["seconds"] is None:
        return run["status"]
    times = "" if found.value is None else f" ({number(found.value)}x)"
    if run["status"] == "time-out":
        return f"> {number(run['seconds'])}" + times.replace("(", "(> ")
    mark = {"near": " ~", "wrong": " **wrong**", "approximate": " approximate"}.get(run["status"], "")
    return (f"[{number(run['seconds'])}]" if mark[1:2] in ("*", "a") else number(run["seconds"]) + times) + mark


def problem_table(records: list[dict[str, Any]]) -> str:
    """One line per problem."""
    if not records:
        return "None."
    head = ["problem", "n x d", "ours s", *(f"{SHORT.get(p, p)} s (x ours)" for p in PEERS)]
    head += ["SV / free", "steps", "rows", "fit / limit", "peak MB", "violation"]
    rows = []
    for record in records:
        mine = best_run(record, OURS) or {"seconds": None, "status": "missing", "facts": {}, "violation": None}
        facts, limit = mine["facts"], record.get("limit_seconds")
        mark = "" if mine["status"] == "exact" else f" **{mine['status']}**"
        rows.append(
            [
                record["problem"]["name"],
                f"{record['n']} x {record['d']}",
                number(mine["seconds"]) + mark,
                *(peer_cell(record, peer) for peer in PEERS),
                f"{mine.get('n_support')} / {mine.get('n_free')}",
                facts.get("iterations", ""),
                facts.get("rows_computed", ""),
                number(mine["seconds"] / limit) if limit and mine["seconds"] else "",
                number(facts.get("peak_mb")),
                number(mine["violation"]),
            ]
        )
    return table(head, rows)


def detail_table(records: list[dict[str, Any]]) -> str:
    """Every run: format, times, check, memory."""
    head = ["problem", "library", "input", "best", "status", "s", "fits", "violation", "dual objective", "SV", "free"]
    head += ["steps", "extra MB", "peak MB"]
    rows = []
    for record in records:
        for run in record["runs"]:
            facts = run["facts"]
            objective = run["objective"]
            rows.append(
                [
                    record["problem"]["name"],
                    SHORT.get(run["library"], run["library"]),
                    run["format"],
                    "*" if run["best"] else "",
                    run["status"],
                    number(run["seconds"]),
                    len(run["times"]),
                    "" if run["n_support"] is None else number(run["violation"]),
                    "" if objective is None else f"{objective:.8g}",
                    "" if run["n_support"] is None else run["n_support"],
                    "" if run["n_free"] is None else run["n_free"],
                    facts.get("iterations", ""),
                    number(facts.get("extra_mb")),
                    number(facts.get("peak_mb")),
                ]
            )
    return table(head, rows)


def machine_text(machine: dict[str, Any], arguments: dict[str, Any]) -> str:
    """Where and when the figures were measured."""
    libraries = ", ".join(f"{name} {version}" for name, version in machine["libraries"].items())
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    lines = [
        f"Measured {machine['date']} at commit {machine['commit']} on {machine['processor']}, "
        f"{machine['cores']} cores, {machine['memory_gb']} GB, {machine['threads']} threads each; "
        f"load at the start {machine['load_at_start']}.",
        f"{libraries}. Python {machine['python']}, {versions}.",
    ]
    if machine["missing"]:
        lines.append(f"Not installed: {', '.join(machine['missing'])}.")
    for name, found in machine.get("tuned", {}).items():
        tried = ", ".join(f"{k} {number(v) + ' s' if v else 'stopped or failed'}" for k, v in found["seconds"].items())
        lines.append(f"{name} runs with the quickest setting, {found['chosen']} ({tried}).")
    if arguments.get("quick"):
        lines.append(
            "**Short run** (`--quick`): subsets of the data, one or two repeats; the floors are for the full one."
        )
    return "\n".join(lines)


def _trouble(results: dict[str, Any]) -> str:
    """Wrong answers, failures, and what was left out: recorded, not dropped."""
    lines = [
        f"- {record['problem']['name']}, {run['library']} ({run['format']}): {run['status']}, {run['message']}"
        for record in results.get("problems", [])
        for run in record["runs"]
        if run["status"] not in ("exact", "near")
    ]
    lines += [f"- not run: {text}" for text in results.get("skipped", [])]
    for part in ("small", "start_up"):
        if "failed" in results.get(part, {}):
            lines.append(f"- {part}: {results[part]['failed']}")
    for part in ("prediction", "memory", "scaling", "threads"):
        lines += [f"- {part}: {row['failed']}" for row in results.get(part, []) if "failed" in row]
    return "### Wrong answers, failures, left out\n\n" + ("\n".join(lines) or "None.")


def _small(small: dict[str, Any]) -> str:
    if not small.get("rows"):
        return ""
    rows = []
    for row in small["rows"]:
        cells = [row["n"], row["format"]]
        for key in ("fit", "predict_one"):
            mine, theirs = row[key][OURS], row[key]["scikit-learn"]
            cells += [number(1e3 * mine), number(1e3 * theirs), number(theirs / mine)]
        rows.append(cells)
    head = ["n", "input", "fit ms", "sklearn", "x", "predict one row ms", "sklearn", "x"]
    return "### Small data\n\n" + table(head, rows)


def _prediction(lines: list[dict[str, Any]]) -> str:
    lines = [line for line in lines if "seconds" in line]
    if not lines:
        return ""
    names = list(dict.fromkeys(name for line in lines for name in line["seconds"]))
    rows = [
        [
            line["data"],
            f"{line['n']} x {line['d']}",
            line["n_support"],
            *(number(1e3 * line["seconds"][name]) if name in line["seconds"] else "" for name in names),
            number(line["difference"]),
        ]
        for line in lines
    ]
    head = ["data", "n x d", "SV", *(f"{name} ms" for name in names), "largest error of ours"]
    return "### Decision values of 10,000 rows\n\n" + table(head, rows)


def _start_up(figures: dict[str, float]) -> str:
    if "cold" not in figures:
        return ""
    names = {
        "sklearn": "import sklearn.svm",
        "import": "import widemargin, beyond that",
        "cold": "first fit, empty disk cache",
        "warm": "first fit, full disk cache",
        "second": "second fit in the same process",
    }
    return "### Start-up\n\n" + table(["", "seconds"], [[text, number(figures[key])] for key, text in names.items()])


def _memory(rows: list[dict[str, Any]]) -> str:
    cells = [
        [row["problem"], row["n"], number(row["cache_size"])]
        + [number(row["extra_mb"]), number(row["allowed_mb"]), number(row["seconds"])]
        for row in rows
        if "extra_mb" in row
    ]
    head = ["problem", "n", "cache_size MB", "peak extra MB", "cache_size + O(n) MB", "fit s"]
    return "### Memory\n\n" + table(head, cells) if cells else ""


def _scaling(groups: list[dict[str, Any]]) -> str:
    parts = []
    for group in groups:
        if "points" not in group:
            continue
        rows = [[p["n"], *(_point(p, library) for library in (OURS, "scikit-learn"))] for p in group["points"]]
        found = group["exponents"]
        rows.append(["**exponent**", number(found[OURS]), number(found["scikit-learn"])])
        parts.append(f"{group['problem']}:\n\n" + table(["n", "ours s", "sklearn s"], rows))
    return "### Time against n\n\n" + "\n\n".join(parts) if parts else ""


def _point(point: dict[str, Any], library: str) -> str:
    """A time, or in its place what went wrong; "not run" after a time-out at a smaller size."""
    status = point.get(f"{library} status", "not run")
    return number(point[library]) if point.get(library) else status


def _threads(groups: list[dict[str, Any]]) -> str:
    rows = [
        [group["problem"], group["n"], row["threads"], number(row["seconds"]), number(row.get("speed_up"))]
        + [row["status"], number(row.get("objective_difference")), number(row.get("decision_difference"))]
        for group in groups
        for row in group.get("rows", [])
    ]
    head = ["problem", "n", "threads", "s", "speed-up", "status", "relative difference of objective"]
    head += ["largest difference of decision values"]
    return "### Threads\n\n" + table(head, rows) if rows else ""


def put_into(path: Path, text: str) -> None:
    """Replace what stands between the marks of a file."""
    whole = path.read_text()
    if whole.count(BEGIN) != 1 or whole.count(END) != 1:
        raise ValueError(f"{path} needs the lines '{BEGIN}' and '{END}' once each: the results go between them.")
    before, rest = whole.split(BEGIN)
    after = rest.split(END)[1]
    path.write_text(f"{before}{BEGIN}\n\n{text.strip()}\n\n{END}{after}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Markdown from the results of the benchmark.")
    parser.add_argument("results", type=Path)
    parser.add_argument("--into", type=Path, help="file whose marked part is replaced")
    arguments = parser.parse_args()
    results = json.loads(arguments.results.read_text())
    text = markdown(results)
    if arguments.into is None:
        print(text)
    else:
        put_into(arguments.into, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
