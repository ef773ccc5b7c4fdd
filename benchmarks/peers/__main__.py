"""Command line of the benchmark: what to measure, how long, where the results go.

    python -m benchmarks.peers --data FOLDER [--only NAME ...] [--quick] [--out DIR] [--repeat N]

Writes DIR/results.json after every problem, then DIR/results.md, DIR/ratios.png and DIR/scaling.png. Without --data
only the generated problems run. With --resume what DIR already holds is kept, and only what is missing (or named) is
measured.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.peers import datasets, growth, machine, picture, report
from benchmarks.peers.comparison import Comparison, Effort
from benchmarks.peers.driver import run_module
from benchmarks.peers.libraries import LIBRARIES, OURS
from benchmarks.peers.problems import PROBLEMS, Problem, chosen
from benchmarks.peers.ratios import best_run
from benchmarks.peers.tuning import choose_settings

FULL_EFFORT = Effort()
QUICK_EFFORT = Effort(repeat=2, seconds=3.0, patience=20.0, least_timeout=2.0, timeout=5.0)
SCALING_EFFORT = Effort(repeat=3, seconds=30.0, patience=100.0, least_timeout=20.0, timeout=120.0)
QUICK_SECONDS = 240.0  # of the whole short run; what has not begun by then is listed as left out
QUICK_PROBLEM_SECONDS = 140.0  # of these, for the problems
PARTS = ("problems", "small", "prediction", "start_up", "memory", "scaling", "threads")


def main(argv: list[str] | None = None) -> int:
    arguments = parse(argv)
    try:
        problems = chosen(arguments.only, arguments.quick, arguments.data is not None, arguments.long)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    arguments.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="widemargin-bench-") as scratch:
        Benchmark(arguments, Path(scratch)).run(problems)
    return 0


def parse(argv: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description="Exact training beside the peers.")
    parser.add_argument("--data", type=Path, help="folder of the data sets; without it only generated problems run")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="problems whose name begins so; nothing else is measured"
    )
    parser.add_argument("--quick", action="store_true", help="subsets and few repeats: under five minutes")
    parser.add_argument("--out", type=Path, default=Path("bench_out"), help="folder of the results (bench_out)")
    parser.add_argument("--repeat", type=int, help="fits per library and problem (5; 2 with --quick)")
    parser.add_argument("--rows", type=int, help="use at most this many rows of each set")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--timeout", type=float, help="most seconds of one fit (600; 5 with --quick)")
    parser.add_argument("--patience", type=float, help="times our time after which a peer is stopped (100; 20)")
    parser.add_argument("--libraries", nargs="+", choices=list(LIBRARIES), help="only these, of those installed")
    parser.add_argument("--parts", nargs="+", choices=PARTS, help="only these measurements")
    parser.add_argument("--long", action="store_true", help="with covtype's 581,012 rows, ours only")
    parser.add_argument("--resume", action="store_true", help="keep what --out already holds, measure what is missing")
    return parser.parse_args(argv)


class Benchmark:
    """One run: settings, results so far, and the steps."""

    def __init__(self, arguments: argparse.Namespace, scratch: Path) -> None:
        self.arguments, self.scratch, self.began = arguments, scratch, time.perf_counter()
        self.effort = self._effort()
        self.libraries = [name for name, kind in LIBRARIES.items() if kind.installed()]
        if arguments.libraries:
            self.libraries = [name for name in self.libraries if name in {OURS, *arguments.libraries}]
        self.results: dict[str, Any] = {"problems": []}
        if arguments.resume and (arguments.out / "results.json").exists():
            self.results = json.loads((arguments.out / "results.json").read_text())
        self.results["machine"] = machine.describe(arguments.threads)
        shown = {
            k: str(v) if isinstance(v, Path) else v for k, v in vars(arguments).items() if k not in ("data", "out")
        }
        self.results["arguments"] = shown
        self.results["skipped"] = []

    def run(self, problems: list[Problem]) -> None:
        """Every step asked for, then report and pictures."""
        parts = self.arguments.parts or (["problems"] if self.arguments.only else PARTS)
        steps: dict[str, Callable[[], Any]] = {
            "small": self._small,
            "prediction": self._prediction,
            "start_up": self._start_up,
            "memory": self._memory,
            "scaling": self._scaling,
            "threads": self._threads,
        }
        if "problems" in parts:
            self._problems(problems)
        for name, step in steps.items():
            if name not in parts or (self.arguments.resume and self.results.get(name)):
                continue
            if self._late(QUICK_SECONDS):
                self.results["skipped"].append(f"{name}: no time left in the short run")
                continue
            self._say(name)
            self.results[name] = step()
            self._save()
        self._finish()

    # ---- steps

    def _problems(self, problems: list[Problem]) -> None:
        """The comparison with every peer, problem by problem."""
        known = {record["problem"]["name"] for record in self.results["problems"]}
        tuned: dict[str, Any] = {}
        if problems and not self.arguments.quick:
            tuned = choose_settings(self.libraries, self.arguments.threads, self.scratch)
            self._say("settings: " + ", ".join(f"{name}: {found['chosen']}" for name, found in tuned.items()))
        self.results["machine"]["tuned"] = tuned
        comparison = Comparison(self.libraries, self.arguments.threads, self.scratch, self.effort, tuned)
        try:
            for problem in problems:
                if problem.name in known and not self.arguments.only:
                    continue
                if self._late(QUICK_PROBLEM_SECONDS):
                    self.results["skipped"].append(f"{problem.name}: no time left in the short run")
                    continue
                try:
                    X, y = datasets.load(problem.data, self.arguments.data, self._rows(problem))
                except datasets.MissingData as missing:
                    self.results["skipped"].append(f"{problem.name}: {missing}")
                    continue
                record = comparison.compare(problem, X, y)
                record["commit"] = self.results["machine"]["commit"]
                others = [r for r in self.results["problems"] if r["problem"]["name"] != problem.name]
                order = {known.name: place for place, known in enumerate(PROBLEMS)}
                self.results["problems"] = sorted([*others, record], key=lambda r: order.get(r["problem"]["name"], 1e9))
                self._say(summary(record))
                self._save()
        finally:
            comparison.close()

    def _small(self) -> dict[str, Any]:
        return run_module(
            "small", ["5" if self.arguments.quick else "31"], self.arguments.threads, self._module_seconds()
        )

    def _prediction(self) -> list[dict[str, Any]]:
        sets = [("moons-10000", 1.0)]
        if self.arguments.data is not None:
            sets += (
                [("ijcnn1", 1.0)]
                if self.arguments.quick
                else [
                    ("ijcnn1", 1.0),
                    ("covtype-10k", 1 / 54),
                    ("a9a.t", 0.05),
                    ("mnist-4-9", 2.0**-5),
                ]
            )
        folder = [] if self.arguments.data is None else [str(self.arguments.data)]
        settings = [str(self.arguments.threads), "3" if self.arguments.quick else "11"]
        return [
            {
                "data": name,
                **run_module(
                    "prediction",
                    [*settings, name, repr(gamma), *folder],
                    self.arguments.threads,
                    self._module_seconds(),
                ),
            }
            for name, gamma in sets
        ]

    def _start_up(self) -> dict[str, float]:
        """The figures of benchmarks/start_up.py."""
        from benchmarks import start_up

        repeats = 1 if self.arguments.quick else start_up.REPEATS
        cold = []
        for _ in range(repeats):
            with tempfile.TemporaryDirectory() as cache:
                cold.append(start_up.run(start_up.FIT, cache))
        with tempfile.TemporaryDirectory() as cache:
            start_up.run(start_up.FIT, cache)
            warm = start_up.median([start_up.run(start_up.FIT, cache) for _ in range(repeats)])
            imports = start_up.median([start_up.run(start_up.IMPORT, cache) for _ in range(repeats)])
        first = start_up.median(cold)[0]
        return {"sklearn": imports[0], "import": imports[1], "cold": first, "warm": warm[0], "second": warm[1]}

    def _memory(self) -> list[dict[str, Any]]:
        named = ["noise-8000 C=10"]
        if self.arguments.data is not None and not self.arguments.quick:
            named += ["a9a C=10", "covtype-50k C=1"]
        sizes = [20.0, 200.0] if self.arguments.quick else [50.0, 200.0, 1000.0]
        return [
            row
            for problem in PROBLEMS
            if problem.name in named
            for row in growth.memory(problem, *self._load(problem), sizes, self.arguments.threads, self.scratch)
        ]

    def _scaling(self) -> list[dict[str, Any]]:
        effort = self.effort if self.arguments.quick else SCALING_EFFORT
        sizes = [1000, 4000, 8000] if self.arguments.quick else [1000, 2000, 4000, 8000, 16_000, 32_000]
        noise = next(problem for problem in PROBLEMS if problem.name == "noise-8000 C=1")
        forest = next(problem for problem in PROBLEMS if problem.name == "covtype-50k C=1")
        todo = [(noise, sizes)]
        if self.arguments.data is not None and not self.arguments.quick:  # reading covtype alone takes a while
            todo.append((forest, [*sizes, 50_000]))
        return [
            growth.scaling(problem, own, self.arguments.data, self.arguments.threads, self.scratch, effort)
            for problem, own in todo
        ]

    def _threads(self) -> list[dict[str, Any]]:
        named = ["moons-10000 C=100", "separable-12000 C=100"]
        if self.arguments.data is not None and not self.arguments.quick:
            named += ["a9a C=1", "ijcnn1 C=10", "covtype-10k C=1", "cadata SVR C=10", "mnist-4-9 C=1"]
        return [
            growth.thread_counts(problem, *self._load(problem), [1, 2], self.scratch, self.effort)
            for problem in PROBLEMS
            if problem.name in named
        ]

    # ---- small matters

    def _effort(self) -> Effort:
        """The effort of the run with what the command line says otherwise."""
        base, given = QUICK_EFFORT if self.arguments.quick else FULL_EFFORT, self.arguments
        return Effort(
            repeat=given.repeat or base.repeat,
            seconds=base.seconds,
            patience=given.patience or base.patience,
            least_timeout=min(base.least_timeout, given.timeout or base.timeout),
            timeout=given.timeout or base.timeout,
        )

    def _rows(self, problem: Problem) -> int | None:
        if self.arguments.rows:
            return self.arguments.rows
        return problem.quick if self.arguments.quick and problem.quick else None

    def _load(self, problem: Problem) -> tuple[Any, Any]:
        return datasets.load(problem.data, self.arguments.data, self._rows(problem))

    def _module_seconds(self) -> float:
        """Time limit of a measurement that runs as a module."""
        return 60.0 if self.arguments.quick else 600.0

    def _late(self, seconds: float) -> bool:
        return self.arguments.quick and time.perf_counter() - self.began > seconds

    def _say(self, text: str) -> None:
        print(f"[{time.perf_counter() - self.began:6.0f} s] {text}", file=sys.stderr, flush=True)

    def _save(self) -> None:
        (self.arguments.out / "results.json").write_text(json.dumps(self.results, indent=1) + "\n")

    def _finish(self) -> None:
        """Report and pictures from what there is."""
        pictures = []
        if self.results["problems"]:
            picture.draw_ratios(self.results["problems"], self.arguments.out / "ratios.png")
            pictures.append("ratios.png")
        if any(group.get("points") for group in self.results.get("scaling", [])):
            picture.draw_scaling(self.results["scaling"], self.arguments.out / "scaling.png")
            pictures.append("scaling.png")
        for record in self.results["problems"]:
            if record["curve"]:
                picture.draw_memory(record, self.arguments.out / f"memory-{record['problem']['data']}.png")
                pictures.append(f"memory-{record['problem']['data']}.png")
        self._save()
        (self.arguments.out / "results.md").write_text(report.markdown(self.results, tuple(pictures)))
        print(report.floor_table(self.results))
        print(f"\nWritten: {self.arguments.out / 'results.md'}")


def summary(record: dict[str, Any]) -> str:
    """One line to watch the run by."""
    cells = []
    for library in LIBRARIES:
        run = best_run(record, library)
        if run is not None:
            seconds = "-" if run["seconds"] is None else f"{run['seconds']:.3g} s"
            cells.append(
                f"{report.SHORT.get(library, library)} {seconds}"
                + ("" if run["status"] == "exact" else f" {run['status']}")
            )
    return f"{record['problem']['name']} n={record['n']}: " + ", ".join(cells)


if __name__ == "__main__":
    sys.exit(main())
