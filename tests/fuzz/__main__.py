"""Attack certificates, then file readers, and report: `python -m tests.fuzz --minutes 5`, or `make fuzz MINUTES=5`.

Four fifths of the time go to the certificates; `--certificates` or `--files` attacks only these or those. `--seed 1234
--count 1` repeats one case. Exit code 1 if a certificate was false, a bound wrong, or a failure silent, or if a damaged
file ended a process or raised an error that is no sentence.
"""

from __future__ import annotations

import argparse
import sys
import time


def main() -> int:
    from tests.fuzz import campaign, file_campaign

    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=None, help="first seed; by default another one each day")
    parser.add_argument("--count", type=int, default=1 << 40, help="number of seeds at most")
    parser.add_argument("--verbose", action="store_true", help="print wrong bounds too")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--certificates", action="store_true", help="attack certificates only")
    only.add_argument("--files", action="store_true", help="attack file readers only")
    options = parser.parse_args()
    first = int(time.time()) // 86_400 * 1_000_000 if options.seed is None else options.seed
    print(f"seeds from {first}, {options.minutes:g} minutes, {options.processes} processes", flush=True)
    failed = False
    minutes = options.minutes * (1.0 if options.certificates else 0.8)
    if not options.files:
        certificates = campaign.run(first, options.count, minutes, options.processes, options.verbose)
        print(certificates.table(), flush=True)
        failed = certificates.failed
    if not options.certificates:
        minutes = options.minutes * (1.0 if options.files else 0.2)
        files = file_campaign.run(first, options.count, minutes, options.processes)
        print(files.table())
        failed = failed or files.failed
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
