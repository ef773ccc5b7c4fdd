"""Attack certificates, file readers and interrupted work, and report: `python -m tests.fuzz --minutes 5`, `make fuzz`.

    --certificates    random estimators on hostile data                         40 % of the time
    --families        cells of searches, trained together                       10 %
    --durations       problems of few samples that take long                    10 %
    --files           damaged files of every format                             20 %
    --interruptions   Ctrl-C and SIGTERM at random moments of a fit             15 %
    --kills           kill -9 of a process that saves                            5 %

Each of these options attacks there only. The closing lines are the figures of all of them, and what is aimed at.
`--seed 1234 --count 1` repeats one case. Exit code 1 if a certificate was false, a bound wrong, or a failure silent; if
a damaged file ended a process or raised an error that is no sentence; if a fit took longer than ten seconds; if an
interrupted estimator is neither as before nor usable; or if a file is not whole.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any


def main() -> int:
    from tests.fuzz import campaign, durations, families, file_campaign, interruptions, kills
    from tests.fuzz.summary import closing

    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=None, help="first seed; by default another one each day")
    parser.add_argument("--count", type=int, default=1 << 40, help="number of seeds, or kills, at most")
    parser.add_argument("--verbose", action="store_true", help="print wrong bounds too")
    only = parser.add_mutually_exclusive_group()
    for name in ("certificates", "families", "durations", "files", "interruptions", "kills"):
        only.add_argument(f"--{name}", action="store_const", const=name, dest="only", help=f"attack with {name} only")
    options = parser.parse_args()
    first = int(time.time()) // 86_400 * 1_000_000 if options.seed is None else options.seed
    print(f"seeds from {first}, {options.minutes:g} minutes, {options.processes} processes", flush=True)
    seeds, processes = (first, options.count), options.processes
    attacks: dict[str, tuple[float, Callable[[float], Any]]] = {
        "certificates": (0.4, lambda minutes: campaign.run(*seeds, minutes, processes, options.verbose)),
        "families": (0.1, lambda minutes: campaign.run(*seeds, minutes, processes, options.verbose, families.attack)),
        "durations": (0.1, lambda minutes: durations.run(*seeds, minutes, processes)),
        "files": (0.2, lambda minutes: file_campaign.run(*seeds, minutes, processes)),
        "interruptions": (0.15, lambda minutes: interruptions.run(*seeds, minutes)),
        "kills": (0.05, lambda minutes: kills.run(*seeds, minutes)),
    }
    failed, figures = False, []
    for name, (share, run) in attacks.items():
        if options.only in (None, name):
            tally = run(options.minutes * (share if options.only is None else 1.0))
            print(tally.table(), flush=True)
            failed = failed or tally.failed
            figures.append(tally.figures)
    print(closing(figures), flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
