"""Many damaged files in processes of their own, with limits on memory and time, and what came of them in a table."""

from __future__ import annotations

import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from tests.fuzz.batches import run_batches
from tests.fuzz.file_attack import write_originals
from tests.fuzz.summary import Figures

BATCH = 500  # files per process, so that what one leaves behind does not stay
# Ends of processes in libraries that cannot be caught in Python: words of the last line, and the library's version.
LISTED = {
    "Unencoded byte array data bytes does not support": "pyarrow 26.0.1, RowGroupMetaData.column of Parquet files"
}
FINE = ("read", "refused", "refused in use")


class FileTally:
    """Counts over all files."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.crashes: list[str] = []
        self.listed: Counter[str] = Counter()
        self.findings: Counter[str] = Counter()
        self.first_seed: dict[str, int] = {}

    def add(self, row: dict[str, Any]) -> None:
        self.rows.append(row)
        if row["outcome"] not in FINE:
            last = row["outcome"].strip().splitlines()
            where = next((line.strip() for line in reversed(last) if line.strip().startswith("File ")), "")
            kind = f"{row['name']}: {last[-1]} [{where.rpartition('widemargin/')[2]}]"
            self.findings[kind] += 1
            if kind not in self.first_seed:
                self.first_seed[kind] = row["seed"]
                print(f"seed {row['seed']}, {row['name']}: {row['outcome']}", flush=True)

    def crash(self, seed: int, how: str) -> None:
        known = next((where for words, where in LISTED.items() if words in how), None)
        if known is not None:
            self.listed[known] += 1
            return
        self.crashes.append(f"seed {seed}: {how}")
        print(self.crashes[-1], flush=True)

    @property
    def count(self) -> int:
        return len(self.rows) + len(self.crashes) + self.listed.total()

    def table(self) -> str:
        slowest = max(self.rows, key=lambda row: row["seconds"], default={"seconds": 0.0, "seed": -1})
        largest = max(self.rows, key=lambda row: row["MB"], default={"MB": 0, "seed": -1})
        lines: list[tuple[str, Any]] = [("damaged files", self.count)]
        for name, count in sorted(Counter(row["name"] for row in self.rows).items()):
            read = sum(row["outcome"] == "read" for row in self.rows if row["name"] == name)
            lines.append((f"  {name}", f"{count}, of which {read} can be read and used"))
        lines += [
            ("PROCESSES THAT ENDED OR HUNG", len(self.crashes)),
            *((f"  in {where}", count) for where, count in self.listed.items()),
            ("ERRORS THAT ARE NO SENTENCE", sum(self.findings.values())),
            ("  different ones", len(self.findings)),
            ("longest time for one file", f"{slowest['seconds']:.2f} s (seed {slowest['seed']})"),
            ("peak memory for one file", f"{largest['MB']} MB (seed {largest['seed']})"),
        ]
        text = "\n".join(f"{name:<44} {value}" for name, value in lines)
        return text + "".join(
            f"\n{n} x seed {self.first_seed[kind]}: {kind}" for kind, n in self.findings.most_common()
        )

    @property
    def failed(self) -> bool:
        return bool(self.crashes or self.findings)

    @property
    def figures(self) -> Figures:
        return {
            "files mutated": self.count,
            "crashes": len(self.crashes),
            "crashes in other libraries, listed": self.listed.total(),
            "tracebacks": sum(self.findings.values()),
            "peak memory for a hostile file, MB": max((row["MB"] for row in self.rows), default=0),
        }


def run(first: int, count: int, minutes: float, n_processes: int) -> FileTally:
    """Attack with the seeds from `first` on until the time is over."""
    tally = FileTally()
    with tempfile.TemporaryDirectory() as folder:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            write_originals(Path(folder))
        run_batches("tests.fuzz.file_attack", [folder], (first, count), BATCH, minutes, n_processes, tally)
    return tally
