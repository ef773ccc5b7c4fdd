"""Many attacks in several processes, and what came of them in a table."""

from __future__ import annotations

import multiprocessing
import queue as queues
import time
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fuzz import attack as single_fits
from tests.fuzz.attack import IN_MEMORY, Outcome
from tests.fuzz.summary import Figures

Attack = Callable[[int], Outcome]
FEW_CASES = 20  # up to so many are repeated, so that they behave as they do in the middle of a long run
LONGEST_FINDING = 600  # characters


def work(attack: Attack, last: int, deadline: float, counter: Any, queue: Any, twice: bool) -> None:
    """One process: take the next seed until time or seeds are used up, and hand over what came of it.

    attack : makes the case of a seed and judges it
    twice : attack each seed once before, so that compiling does not use up the time limit of the case
    """
    while time.time() < deadline:
        with counter.get_lock():
            seed, counter.value = counter.value, counter.value + 1
        if seed >= last:
            break
        try:
            if twice:
                attack(seed)
            outcome = attack(seed)
        except Exception:
            queue.put({"seed": seed, "error": traceback.format_exc(limit=-6)})
            continue
        queue.put(summary(outcome))
    queue.put(None)


def summary(outcome: Outcome) -> dict[str, Any]:
    """What is counted and printed of an outcome, without its data."""
    case, verdicts = outcome.case, outcome.verdicts
    return {
        "seed": case.seed,
        "machine": case.machine if case.how not in ("training", "family") else f"{case.how}, {case.machine}",
        "shape": case.shape,
        "case": str(case)[:LONGEST_FINDING],
        "ordinary": case.ordinary,
        "large": case.X.shape[0] > IN_MEMORY,
        "status": outcome.status,
        "holds": outcome.holds,
        "false": sum(bool(v.false) for v in verdicts) > 0,
        "excess": max((v.excess for v in verdicts), default=0.0),
        "wrong": sum(bool(v.wrong) for v in verdicts) > 0,
        "silent": outcome.silent,
        "disagrees": bool(outcome.disagrees),
        "crash": bool(outcome.crash),
        "refusal": bool(outcome.refusal),
        "refused": not outcome.holds and bool(verdicts) and all(v.refused or c for v, c in zip(verdicts, outcome.held)),
        "undecided": any(v.undecided for v in verdicts),
        "margin": min((v.margin for v in verdicts), default=np.inf),
        "findings": outcome.findings,
    }


class Tally:
    """Counts over all cases."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.errors = 0

    def add(self, row: dict[str, Any], verbose: bool) -> None:
        if "error" in row:
            self.errors += 1
            print(f"the oracle failed on seed {row['seed']}:\n{row['error']}", flush=True)
            return
        self.rows.append(row)
        for text in row["findings"]:
            if verbose or not text.startswith("WRONG"):
                print(f"{text}\n    {row['case']}", flush=True)

    def count(self, *names: str, **equal: Any) -> int:
        return sum(all(r[n] for n in names) and all(r[k] == v for k, v in equal.items()) for r in self.rows)

    def share(self, ordinary: bool) -> str:
        answered = self.count(ordinary=ordinary, refusal=False, crash=False)
        refused = self.count("refused", ordinary=ordinary)
        return f"{refused} of {answered} ({100.0 * refused / max(1, answered):.2f} %)"

    def table(self) -> str:
        lines = [
            ("cases", len(self.rows)),
            ("  above 2,048 samples", self.count("large")),
            ("  ordinary", self.count("ordinary")),
            ("certificates that hold", self.count("holds")),
            ("FALSE CERTIFICATES", self.count("false")),
            ("  largest true value / tol", f"{max((r['excess'] for r in self.rows), default=0.0):.4g}"),
            ("WRONG BOUNDS PRINTED", self.count("wrong")),
            ("SILENT FAILURES", self.count("silent")),
            ("verify disagrees beyond the stated errors", self.count("disagrees")),
            ("crashes", self.count("crash")),
            ("inputs refused by an error", self.count("refusal")),
            ("refused though true, ordinary", self.share(True)),
            ("refused though true, hostile", self.share(False)),
            ("status UNDECIDED", self.count(status="UNDECIDED")),
            ("left open by the oracle", self.count("undecided")),
            ("smallest error bound / true error", f"{min((r['margin'] for r in self.rows), default=np.inf):.4g}"),
            ("failures of the oracle itself", self.errors),
        ]
        text = "\n".join(f"{name:<44} {value}" for name, value in lines)
        for kind in ("false", "wrong", "silent"):
            for what in ("machine", "shape"):
                found = Counter(r[what] for r in self.rows if r[kind])
                if found:
                    text += f"\n{kind} by {what}: " + ", ".join(f"{name} {k}" for name, k in found.most_common())
        return text

    @property
    def figures(self) -> Figures:
        disagreeing = sum(r["false"] or r["wrong"] or r["silent"] or r["disagrees"] for r in self.rows)
        return {
            "machines tried": len(self.rows),
            "oracles disagreeing": disagreeing + self.errors,
            "crashes": self.count("crash"),
        }

    @property
    def failed(self) -> bool:
        return bool(self.errors + sum(self.count(kind) for kind in ("false", "wrong", "silent", "disagrees", "crash")))


def run(
    first: int, count: int, minutes: float, n_processes: int, verbose: bool = False, attack: Attack = single_fits.attack
) -> Tally:
    """Attack with the seeds from `first` on until the time is over."""
    context = multiprocessing.get_context("spawn")
    queue, counter = context.Queue(), context.Value("q", first)
    deadline = time.time() + 60.0 * minutes
    arguments = (attack, first + count, deadline, counter, queue, count <= FEW_CASES)
    processes = [context.Process(target=work, args=arguments, daemon=True) for _ in range(n_processes)]
    for process in processes:
        process.start()
    tally, running = Tally(), n_processes
    while running:
        try:
            row = queue.get(timeout=10.0)
        except queues.Empty:
            if any(process.exitcode not in (None, 0) for process in processes):
                print(f"a process died on one of the {n_processes} seeds before {counter.value}", flush=True)
                tally.errors += 1
                break
            continue
        if row is None:
            running -= 1
        else:
            tally.add(row, verbose)
    return tally
