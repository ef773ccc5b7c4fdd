"""Attacks in processes of their own, so that one that ends or hangs its process is counted and the next ones go on.

A process is `python -m MODULE ... FIRST COUNT`. It calls `begin` before each seed and prints a row of JSON after it.
"""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Protocol

SILENT = 900.0  # seconds until a process that uses no CPU time, or is starved on a busy system, counts as hung


def begin(seed: int, cpu_seconds: float) -> None:
    """Announce a seed; the system ends this process, compiled code too, when it has computed for so long."""
    if hasattr(signal, "setitimer"):  # not on Windows
        signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
    print(json.dumps({"begin": seed}), flush=True)


class Counts(Protocol):
    """What came of the seeds, as a campaign counts it."""

    def add(self, row: dict[str, Any]) -> None: ...

    def crash(self, seed: int, how: str) -> None: ...


def _hand_over(stream: Any, lines: queue.Queue[str | None]) -> None:
    """Put the lines of a stream into a queue, and None at its end."""
    for line in stream:
        lines.put(line)
    lines.put(None)


def run_batch(module: str, arguments: list[str], first: int, count: int, tally: Counts) -> None:
    """Attack with `count` seeds from `first`; a process that ends or hangs is replaced by one that goes on behind."""
    last = first + count
    while first < last:
        command = [sys.executable, "-m", module, *arguments, str(first), str(last - first)]
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
                line = lines.get(timeout=SILENT)
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
        for thread, stream in zip(listen, (process.stdout, process.stderr), strict=True):
            thread.join()
            if stream is not None:
                stream.close()
        if first < last:
            tail = " ".join("".join(errors).strip().splitlines()[-1:])
            is_late = process.returncode == -getattr(signal, "SIGPROF", 0)
            how = f"code {process.returncode} {tail}" if not is_late else "too much CPU time"
            tally.crash(current, f"silent for {SILENT:.0f} s" if hung else how)
            first = current + 1


def run_batches(
    module: str,
    arguments: list[str],
    seeds: tuple[int, int],
    batch: int,
    minutes: float,
    n_processes: int,
    tally: Counts,
) -> None:
    """Attack with `seeds` (first and count), `batch` to a process, until the time is over."""
    first, count = seeds
    numbers = iter(range(first, first + count, batch))
    deadline = time.time() + 60.0 * minutes

    def work() -> None:
        for start in numbers:
            if time.time() > deadline:
                return
            run_batch(module, arguments, start, min(batch, first + count - start), tally)

    threads = [threading.Thread(target=work) for _ in range(n_processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
