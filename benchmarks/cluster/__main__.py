"""What a cluster of processes on this machine costs, gains and survives; the results are in docs/cluster.md.

    python -m benchmarks.cluster losses               workers ended at 20 random rounds and in every other phase; bytes
    python -m benchmarks.cluster speed --data FOLDER  one turn: local with 1 and 2 threads, clusters of 1 and 2 workers
    python -m benchmarks.cluster search               one turn: a search on 1 and 2 local processes and Dask workers
    python -m benchmarks.cluster replay --data FOLDER recorded rounds against the clock, and simulated for many cores
    python -m benchmarks.cluster predictions          labels of a 3 GB file, and the memory it takes
    python -m benchmarks.cluster report               medians of all turns so far

Each measurement adds a line to --out; turns of `speed` and `search` take one to three minutes and need a quiet machine.
FOLDER has covtype/covtype.data.xz, the data set of the UCI repository; without --data rows are generated.
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from benchmarks.cluster.results import report

MEASUREMENTS = ("losses", "speed", "search", "replay", "predictions")


def main() -> None:
    """Run one measurement, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=[*MEASUREMENTS, "report"])
    parser.add_argument("--data", help="folder of data sets")
    parser.add_argument("--n", type=int, help="number of samples")
    parser.add_argument("--fits", type=int, default=20, help="fits in which a worker is ended")
    parser.add_argument("--out", type=Path, default=Path("bench_out/cluster"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    if args.what == "report":
        report(args.out)
    else:
        importlib.import_module(f"benchmarks.cluster.{args.what}").measure(args)


if __name__ == "__main__":
    main()
