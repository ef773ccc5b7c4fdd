"""Command line of the benchmark of searches.

    python -m benchmarks.tuning --data FOLDER [--only NAME ...] [--quick] [--out FILE.json] [--torchkm PYTHON]
    python -m benchmarks.tuning --out FILE.json --page docs/tuning-benchmarks.md

Writes FILE.json after every job and prints the report. With --resume jobs that FILE.json already holds are not measured
again. With --page nothing is measured: the report is put between the marks of a page.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from benchmarks.peers.datasets import MissingData
from benchmarks.peers.report import put_into
from benchmarks.tuning import choosing, grids, memory, report, torchkm_workload
from benchmarks.tuning.bench import Bench
from benchmarks.tuning.grids import Job
from benchmarks.tuning.rounds import Effort


def main(argv: list[str] | None = None) -> int:
    arguments = parse(argv)
    if arguments.page is not None:
        results = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
        put_into(arguments.page, report.markdown(results))
        return 0
    try:
        jobs = chosen(arguments.only)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="widemargin-tuning-") as scratch:
        bench = Bench(arguments, Path(scratch))
        try:
            for name, job in jobs.items():
                run(bench, name, job)
        finally:
            bench.rounds.close()
            bench.save()
    print(report.markdown(bench.results))
    return 0


def parse(argv: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuning", description="Searches beside the peers.")
    parser.add_argument("--data", type=Path, help="folder of the data sets; without it only generated ones are used")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="jobs whose name begins so: " + ", ".join(groups()))
    parser.add_argument("--quick", action="store_true", help="300 rows, three values of each parameter, once")
    parser.add_argument("--out", type=Path, default=Path("bench_out/tuning.json"), help="file of the results")
    parser.add_argument("--repeat", type=int, help=f"searches per searcher ({Effort.repeat}; 1 with --quick)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=Effort.timeout, help="most seconds of one search")
    parser.add_argument("--torchkm", metavar="PYTHON", help="a Python with torch and torchkm 4.3.2, to run TorchKM")
    parser.add_argument("--resume", action="store_true", help="keep what --out holds, measure what is missing")
    parser.add_argument("--page", type=Path, help="measure nothing; put the report of --out into this page")
    return parser.parse_args(argv)


def all_jobs() -> dict[str, Job]:
    return grids.jobs() | torchkm_workload.jobs() | choosing.jobs() | memory.jobs()


def groups() -> list[str]:
    """First parts of the names."""
    return list(dict.fromkeys(name.partition("/")[0] for name in all_jobs()))


def chosen(only: list[str] | None) -> dict[str, Job]:
    """Jobs whose names begin with one of these, in order; all without any."""
    everything = all_jobs()
    for start in only or []:
        if not any(name.startswith(start) for name in everything):
            known, example = ", ".join(groups()), next(iter(everything))
            raise ValueError(f"No job's name begins with {start!r}. Names begin with {known}: for example {example!r}.")
    return {name: job for name, job in everything.items() if only is None or name.startswith(tuple(only))}


def run(bench: Bench, name: str, job: Job) -> None:
    """One job; what it needs and is not there, and whatever goes wrong in it, is written down."""
    if bench.arguments.resume and name in bench.results["records"]:
        return
    bench.say(name)
    try:
        record = job(bench)
    except MissingData as missing:
        bench.leave_out(name, str(missing))
        return
    except Exception as error:  # hours of other jobs must not be lost
        bench.leave_out(name, f"{type(error).__name__}: {error}")
        return
    record["commit"] = bench.results["machine"]["commit"]
    bench.results["records"][name] = record
    bench.save()


if __name__ == "__main__":
    sys.exit(main())
