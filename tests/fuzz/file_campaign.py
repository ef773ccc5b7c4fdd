"""Many damaged files in processes of their own, with limits on memory and time, and what came of them in a table."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from tests.fuzz.file_attack import write_originals

BATCH = 500  # files per process, so that what one leaves behind does not stay
LONGEST = 60.0  # seconds for one file, loading of the libraries and compiled functions included
FINE = ("read", "refused", "refused in use")


class FileTally:
    """Counts over all files."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.crashes: list[str] = []
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
        self.crashes.append(f"seed {seed}: {how}")
        print(self.crashes[-1], flush=True)

    def table(self) -> str:
        slowest = max(self.rows, key=lambda row: row["seconds"], default={"seconds": 0.0, "seed": -1})
        largest = max(self.rows, key=lambda row: row["MB"], default={"MB": 0, "seed": -1})
        lines: list[tuple[str, Any]] = [("damaged files", len(self.rows) + len(self.crashes))]
        for name, count in sorted(Counter(row["name"] for row in self.rows).items()):
            read = sum(row["outcome"] == "read" for row in self.rows if row["name"] == name)
            lines.append((f"  {name}", f"{count}, of which {read} can be read and used"))
        lines += [
            ("PROCESSES THAT ENDED OR HUNG", len(self.crashes)),
            ("ERRORS THAT ARE NO SENTENCE", sum(self.findings.values())),
            ("  different ones", len(self.findings)),
            ("longest time for one file", f"{slowest['seconds']:.2f} s (seed {slowest['seed']})"),
            ("peak memory of a process", f"{largest['MB']} MB (seed {largest['seed']})"),
        ]
        text = "\n".join(f"{name:<44} {value}" for name, value in lines)
        return text + "".join(
            f"\n{n} x seed {self.first_seed[kind]}: {kind}" for kind, n in self.findings.most_common()
        )

    @property
    def failed(self) -> bool:
        return bool(self.crashes or self.findings)


def _hand_over(stream: Any, lines: queue.Queue[str | None]) -> None:
    """Put the lines of a stream into a queue, and None at its end."""
    for line in stream:
        lines.put(line)
    lines.put(None)


def run_batch(folder: Path, first: int, count: int, tally: FileTally) -> None:
    """Attack `count` files from seed `first`; a process that ends or hangs is replaced by one that goes on behind."""
    last = first + count
    while first < last:
        command = [sys.executable, "-m", "tests.fuzz.file_attack", str(folder), str(first), str(last - first)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        lines: queue.Queue[str | None] = queue.Queue()
        errors: list[str] = []
        listen = [
            threading.Thread(target=_hand_over, args=(process.stdout, lines), daemon=True),
            threading.Thread(
                target=lambda out, into: into.append(out.read()), args=(process.stderr, errors), daemon=True
            ),
        ]
        for thread in listen:
            thread.start()
        current, hung = first, False
        while True:
            try:
                line = lines.get(timeout=LONGEST)
            except queue.Empty:
                hung = True
                process.kill()
                break
            if line is None:
                break
            row = json.loads(line)
            if "begin" in row:
                current = row["begin"]
            else:
                tally.add(row)
                first = current + 1
        process.wait()
        listen[1].join()
        if first < last:
            tail = " ".join("".join(errors).strip().splitlines()[-1:])
            tally.crash(current, f"longer than {LONGEST:.0f} s" if hung else f"code {process.returncode} {tail}")
            first = current + 1


def run(first: int, count: int, minutes: float, n_processes: int) -> FileTally:
    """Attack with the seeds from `first` on until the time is over."""
    tally = FileTally()
    numbers = iter(range(first, first + count, BATCH))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            write_originals(folder)
        deadline = time.time() + 60.0 * minutes

        def work() -> None:
            for begin in numbers:
                if time.time() > deadline:
                    return
                run_batch(folder, begin, min(BATCH, first + count - begin), tally)

        threads = [threading.Thread(target=work) for _ in range(n_processes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return tally
