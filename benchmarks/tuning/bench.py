"""One run of the benchmark: settings, results so far, and what was left out."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.peers import machine
from benchmarks.tuning import searchers
from benchmarks.tuning.rounds import Effort, Rounds
from benchmarks.tuning.search import Search

QUICK_ROWS = 300


class Bench:
    """What the jobs share. `results` is what is written: machine, records by the name of a job, and what is missing."""

    def __init__(self, arguments: argparse.Namespace, scratch: Path) -> None:
        self.arguments, self.scratch, self.began = arguments, scratch, time.perf_counter()
        self.folder: Path | None = arguments.data
        self.quick: bool = arguments.quick
        repeat = arguments.repeat or (1 if self.quick else Effort.repeat)
        self.rounds = Rounds(arguments.threads, scratch, Effort(repeat=repeat, timeout=arguments.timeout))
        self.results: dict[str, Any] = {"records": {}}
        if arguments.resume and arguments.out.exists():
            self.results = json.loads(arguments.out.read_text())
        self.results["machine"] = machine.describe(arguments.threads)
        self.results["quick"] = self.quick
        self.results["left_out"] = {}

    def rows(self) -> int | None:
        """Rows of every set in a short run; None for all."""
        return QUICK_ROWS if self.quick else None

    def searchers(self, *names: str) -> list[str]:
        """Those that are installed, in this order; the others are listed as left out."""
        for name in names:
            if not searchers.installed(name):
                self.leave_out(searchers.TITLES[name], "not installed")
        return [name for name in names if searchers.installed(name)]

    def size(self, search: Search) -> Search:
        """The search, or a part of it in a short run."""
        return search.quick() if self.quick else search

    def leave_out(self, what: str, why: str) -> None:
        if self.results["left_out"].get(what) != why:
            self.results["left_out"][what] = why
            self.say(f"left out: {what}: {why}")

    def say(self, text: str) -> None:
        print(f"[{time.perf_counter() - self.began:6.0f} s] {text}", file=sys.stderr, flush=True)

    def save(self) -> None:
        self.arguments.out.parent.mkdir(parents=True, exist_ok=True)
        self.arguments.out.write_text(json.dumps(self.results, indent=1) + "\n")
