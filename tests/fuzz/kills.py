"""Killed writers: a process saves versions of a model over one file until kill -9; the file is always a whole version.

The writer sends the number of each version before it saves it, so that who kills it knows which ones the file may hold:
the last one announced, or the one before. Writers are forked from a process that has imported everything.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz.summary import Figures
from widemargin import OneClassSVM, io
from widemargin.storage.errors import FileError

N_SAMPLES = 4_000  # which are all support vectors: a file of 400 kB takes some milliseconds
LONGEST = 0.06  # seconds from the first save to the kill; several saves
SLOWEST_START = 120.0  # seconds until the writer has imported everything, on a busy machine


def model_of(version: int) -> OneClassSVM:
    """A model whose coefficients all hold its version."""
    X = np.random.default_rng(0).normal(size=(N_SAMPLES, 8))
    return with_version(OneClassSVM(kernel="linear", nu=1.0).fit(X), version)


def with_version(model: OneClassSVM, version: int) -> OneClassSVM:
    model.dual_coef_ = np.full((1, N_SAMPLES), 1.0 + version)
    model.intercept_ = np.array([float(version)])
    return model


def write(path: Path, first: int, announce: Connection) -> None:
    """Save version after version, without end."""
    model = model_of(first)
    for version in range(first, 1 << 40):
        announce.send(version)
        io.save(with_version(model, version), path)


def version_in(path: Path) -> int:
    """The version that a file holds; ValueError if it holds parts of two."""
    model: Any = io.load(path)
    version = int(model.intercept_[0])
    if not np.array_equal(model.dual_coef_, np.full((1, N_SAMPLES), 1.0 + version)):
        raise ValueError("coefficients of another version")
    return version


class Tally:
    """Counts over all kills."""

    def __init__(self) -> None:
        self.kills = self.whole = self.drafts = 0
        self.failures: list[str] = []

    def fail(self, text: str) -> None:
        self.failures.append(text)
        print(text, flush=True)

    def table(self) -> str:
        lines = [
            ("kills while saving", self.kills),
            ("  that left a draft, removed by the next save", self.drafts),
            ("files that were whole", self.whole),
            ("FAILURES", len(self.failures)),
        ]
        return "\n".join(f"{name:<44} {value}" for name, value in lines)

    @property
    def failed(self) -> bool:
        return bool(self.failures)

    @property
    def figures(self) -> Figures:
        return {"kills while saving": self.kills, "whole files after them": self.whole}


def kill_writer(path: Path, first: int, seconds: float) -> int:
    """Start a writer, kill it some seconds after its first version was saved, and return the last one it announced."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.fuzz.kills"])
    heard, announce = context.Pipe(duplex=False)
    process = context.Process(target=write, args=(path, first, announce))
    process.start()
    announce.close()
    try:
        for _ in range(2):  # the second is announced when the first is saved
            if not heard.poll(SLOWEST_START):
                raise RuntimeError("the writer did not begin")
            last = heard.recv()
        time.sleep(seconds)
    finally:
        process.kill()
        process.join()
    with heard, suppress(EOFError):
        while True:
            last = heard.recv()
    return int(last)


def run(first: int, count: int, minutes: float) -> Tally:
    """Kill `count` writers of one file, unless the time is over before."""
    tally, rng, deadline = Tally(), np.random.default_rng(first), time.time() + 60.0 * minutes
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "model"
        version = 0
        io.save(model_of(version), path)
        while tally.kills < count and time.time() < deadline:
            last = kill_writer(path, version + 1, float(rng.uniform(0.0, LONGEST)))
            tally.kills += 1
            drafts = list(path.parent.glob(".*.part"))
            tally.drafts += bool(drafts)
            try:
                version = version_in(path)
            except (FileError, ValueError) as error:
                tally.fail(f"kill {tally.kills}: {error}")
                version = last
                continue
            if version not in (last - 1, last):
                tally.fail(f"kill {tally.kills}: version {version}, where {last} was being saved")
            else:
                tally.whole += 1
            io.save(model_of(version), path)
            if left := list(path.parent.glob(".*.part")):
                tally.fail(f"kill {tally.kills}: the next save left {left}")
    return tally
