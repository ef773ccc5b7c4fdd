"""Attack certificates for some minutes and report: `python -m tests.fuzz --minutes 5`, or `make fuzz MINUTES=5`.

`--seed 1234 --count 1` repeats one case. Exit code 1 if a certificate was false, a bound wrong, or a failure silent.
"""

from __future__ import annotations

import argparse
import sys
import time


def main() -> int:
    from tests.fuzz.campaign import run

    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=None, help="first seed; by default another one each day")
    parser.add_argument("--count", type=int, default=1 << 40, help="number of seeds at most")
    parser.add_argument("--verbose", action="store_true", help="print wrong bounds too")
    options = parser.parse_args()
    first = int(time.time()) // 86_400 * 1_000_000 if options.seed is None else options.seed
    print(f"seeds from {first}, {options.minutes:g} minutes, {options.processes} processes", flush=True)
    tally = run(first, options.count, options.minutes, options.processes, options.verbose)
    print(tally.table())
    return int(tally.failed)


if __name__ == "__main__":
    sys.exit(main())
