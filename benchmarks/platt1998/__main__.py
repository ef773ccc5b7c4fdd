"""Run Platt's experiments of 1998 again, with his SMO, chunking, our default solver and scikit-learn side by side.

    python -m benchmarks.platt1998 --data FOLDER      LIBSVM's a1a...a9a, w1a...w8a and the generated sets, some minutes
    python -m benchmarks.platt1998 --generated        generated sets only, needs no data, under two minutes
    python -m benchmarks.platt1998 --data FOLDER --full   every size, no time limit: hours
    python -m benchmarks.platt1998 --data FOLDER --missing --limit 300 --out EARLIER   the cells that Platt has a time
                                                      for and the earlier run has not, each once: an hour

Writes platt1998.md, platt1998.json and images/ into --out; experiments run before into the same folder are kept.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.platt1998.figures import EXPERIMENTS, Experiment
from benchmarks.platt1998.report import CONTESTANTS, Rows, Sources, key, read, write
from benchmarks.platt1998.sets import FILES, Data, Published, artificial
from benchmarks.platt1998.trials import Cell, trial
from widemargin._jit import compile_at_once

LIMIT = 20.0  # seconds per cell with --data
QUICK_LIMIT = 4.0  # seconds per cell with --generated
WORST_EXPONENT = 2.0  # growth of time with size by which it is foreseen whether the next size would end in time
WARM_UP = 300  # samples of the fits that compile everything before the first clock starts

NOTES = """
All contestants train to the same accuracy, in which no output is more than 1e-3 off its target (`tol=2e-3` in LIBSVM's
sense). Times are CPU seconds, as Platt's are; his were taken on a 266 MHz Pentium II. "SMO of 1998" is
`widemargin.solvers.reference.Platt` on sparse binary vectors without any cache, "chunking" is
`widemargin.solvers.reference.Chunking(500)` with projected conjugate gradient, "widemargin" is `SVC()`, "scikit-learn"
is its `SVC` with 2,000 MB of cache on CSR data.

Data: LIBSVM's a1a-a9a and w1a-w8a are Platt's own subsets (adult has one row fewer from a6a on). "m of x" says that m
rows were drawn at random from the file x, because the subset of that size was not at hand. The artificial sets are
generated as the report describes, so they are other draws than his; on both kinds of draws the counts differ as draws
do.

The Gaussian "with variance 10" is exp(-|x - z|^2 / (2 * 10)): with that reading, and not with |x - z|^2 / 10, the
support vector counts on adult agree to the last one at n = 1,605.

Support vector counts need not agree exactly where the solution is not unique. In the web set 19,276 of the 49,749 pages
have a twin, over which a multiplier may be spread: SMO spreads it over more of them (its counts are Platt's), the block
solver over fewer, at the same objective. On the noise set with the Gaussian kernel nearly all points are at their
bound, and those that are not make up for the difference in size of the two classes, a matter of the draw: with 1,000
points there are 0, 76, 132 and 241 of them if one class has 0, 14, 30 and 60 points more than the other. Platt's counts
(22, 82, 75, 30, 48) jump as they would for that reason.
"""


def load(e: Experiment, number: int, published: dict[str, Published]) -> Data:
    """Data of one size of an experiment."""
    size = e.sizes[number]
    return published[e.data].take(number, size) if e.data in FILES else artificial(e.data, size)


def foreseen(cells: dict[str, Cell], e: Experiment, number: int, contestant: str, dense: bool) -> float:
    """Seconds that the next size would take if time grew with WORST_EXPONENT; infinite after a failure."""
    if number == 0:
        return 0.0
    before = cells.get(key(e.sizes[number - 1], contestant, dense))
    if before is None or before.seconds is None:
        return float("inf")
    return before.seconds * (e.sizes[number] / e.sizes[number - 1]) ** WORST_EXPONENT


def timed_by_platt(e: Experiment, number: int, contestant: str, dense: bool) -> bool:
    """Whether Platt has a time for this cell."""
    columns = {"smo": (e.smo, e.smo_dense), "chunking": (e.chunking, e.chunking_dense)}.get(contestant, ((), ()))
    return bool(columns[dense]) and columns[dense][number] is not None


def run(
    experiments: list[Experiment],
    published: dict[str, Published],
    limit: float | None,
    contestants: list[str],
    rows: Rows,
    sources: Sources,
    save: Callable[[], None],
    missing: bool = False,
) -> None:
    """Add all cells of the chosen experiments to `rows` and `sources`, with a line on the terminal for each.

    `save` is called after each cell: a cell may take minutes, and a run that is cut short keeps those that ended.

    Cells that ended in an earlier run are not run again when only some contestants are asked for, or those `missing`:
    the cells that Platt has a time for, however long they are foreseen to take.
    """
    for e in experiments:
        print(e.title, file=sys.stderr)
        if len(contestants) == len(CONTESTANTS) and not missing:
            rows[e.name] = {}
        cells = rows.setdefault(e.name, {})
        found = sources.setdefault(e.name, {})
        for number, size in enumerate(e.sizes):
            both = [(c, dense) for c in contestants for dense in (False, True)]
            todo = [(c, dense) for c, dense in both if not dense or (e.dense_table and c in ("smo", "chunking"))]
            todo = [(c, dense) for c, dense in todo if getattr(cells.get(key(size, c, dense)), "seconds", None) is None]
            if missing:
                todo = [(c, dense) for c, dense in todo if timed_by_platt(e, number, c, dense)]
            elif limit is not None:
                todo = [(c, dense) for c, dense in todo if foreseen(cells, e, number, c, dense) <= limit]
            if not todo:
                continue
            X, y, found[size] = load(e, number, published)
            for contestant, dense in todo:
                cell = trial(e, X, y, contestant, dense, limit)
                cells[key(size, contestant, dense)] = cell
                seconds = "limit" if cell.seconds is None else f"{cell.seconds:.3g} s"
                name = contestant + (" dense" if dense else "")
                print(f"  {size:>6,} {name:<14} {seconds:>9}  SV {cell.non_bound} + {cell.bound}", file=sys.stderr)
                save()


def warm_up() -> None:
    """Compile what the experiments use."""
    compile_at_once()
    for e in EXPERIMENTS:
        if e.data in ("separable", "noise"):
            X, y, _ = artificial(e.data, WARM_UP)
            for contestant in CONTESTANTS:
                trial(e, X, y, contestant, False, None)
    X, y, _ = artificial("noise", 2500)  # larger problems take another path in the default solver
    for kind in ("noise-linear", "noise-gaussian"):
        trial(next(e for e in EXPERIMENTS if e.name == kind), X, y, "default", False, None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with LIBSVM's a1a...a9a and w1a...w8a, plain or compressed")
    parser.add_argument("--generated", action="store_true", help="only the artificial sets; needs no data")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="experiments: " + ", ".join(e.name for e in EXPERIMENTS)
    )
    parser.add_argument("--contestants", nargs="+", choices=CONTESTANTS, default=list(CONTESTANTS), help="default: all")
    parser.add_argument("--limit", type=float, help="CPU seconds per cell (default 20, with --generated 4)")
    parser.add_argument("--missing", action="store_true", help="only cells that Platt timed and --out has no time for")
    parser.add_argument("--full", action="store_true", help="all sizes, no time limit")
    parser.add_argument("--out", type=Path, default=Path("platt1998_out"), help="folder for the results")
    arguments = parser.parse_args()
    if arguments.data is None and not arguments.generated:
        parser.error("give --data FOLDER, or --generated for the artificial sets only")
    chosen = [e for e in EXPERIMENTS if not arguments.generated or e.data not in FILES]
    if arguments.only:
        unknown = set(arguments.only) - {e.name for e in EXPERIMENTS}
        if unknown:
            parser.error(f"unknown experiments: {', '.join(sorted(unknown))}")
        chosen = [e for e in chosen if e.name in arguments.only]
    published = {name: Published(arguments.data, name) for name in FILES if any(e.data == name for e in chosen)}
    limit = None if arguments.full else arguments.limit or (QUICK_LIMIT if arguments.generated else LIMIT)
    warm_up()
    rows, sources = read(arguments.out)

    def save() -> None:
        write(arguments.out, rows, sources, limit, NOTES)

    run(chosen, published, limit, arguments.contestants, rows, sources, save, arguments.missing)
    print(arguments.out / "platt1998.md")


if __name__ == "__main__":
    main()
