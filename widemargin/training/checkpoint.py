"""Checkpoints: a fit that is killed goes on from the multipliers it had at most EVERY seconds before.

`checkpoint` of an estimator is a folder. In it, every fit has a file of its own, named after its data, kernel and
problems (fingerprint.py), so that the clones of a search do not meet each other's file. While a fit runs, the
multipliers of all its problems are written at most every EVERY seconds, and once more if it ends early; a fit that has
done what it can removes its file.

A fit that finds its file begins there. Multipliers are all that is kept: F = K b is computed anew, so a file can lead
to a bad start but never to a wrong certificate. That costs one kernel row for each support vector.

Problems that the linear solvers finish in seconds (linear_path.py), and class pairs solved in one call
(class_pairs.py), are not written.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from widemargin.gram.source import Index
from widemargin.linalg.arrays import Vector
from widemargin.monitor.iteration import Iteration, Watch
from widemargin.monitor.status import Status
from widemargin.problems.warm_start import restart
from widemargin.storage.atomic import check_writable
from widemargin.storage.errors import FileError
from widemargin.training.checkpoint_file import ENDING, read_multipliers, write_multipliers
from widemargin.training.fingerprint import digest_of_fit, digest_of_problem
from widemargin.training.task import Task, Trained

if TYPE_CHECKING:
    from widemargin.training.fit import Training

EVERY = 30.0  # seconds between two writes; a million multipliers take 0.04 s of CPU time and a wait for the disk
#: endings of a fit that more time, more steps or another cluster can improve
UNFINISHED = {
    Status.TIME_LIMIT, Status.INTERRUPTED, Status.STOPPED, Status.LOST, Status.MAX_ITER, Status.MAX_PASSES,
    Status.TOO_SLOW,
}  # fmt: skip

logger = logging.getLogger("widemargin")


def prepare_folder(folder: str | os.PathLike) -> None:
    """Create the folder of checkpoints if it is missing; FileError if no file can be written there."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"checkpoint={os.fspath(folder)!r} cannot be made a folder: {error.strerror or error}. Give a folder that "
            "exists or can be made."
        ) from None
    check_writable(Path(folder) / f"any{ENDING}")


class Checkpoint:
    """The file of one fit.

    folder : where it is, or will be
    tasks : all problems of the fit; the first `n_named` of them give the file its name, since others, the folds behind
        probabilities, may be drawn at random
    """

    def __init__(
        self,
        folder: str | os.PathLike,
        training: Training,
        tasks: Sequence[Task],
        n_named: int,
        classes: Sequence[Index] = (),
    ) -> None:
        self.duals = [training.as_solved(task.dual) for task in tasks]
        shared = digest_of_fit(training.source.kernel, training.source.content(), classes)
        self.names = [digest_of_problem(shared, dual, task.index) for dual, task in zip(self.duals, tasks)]
        name = self.names[0] if n_named == 1 else digest_of_fit(training.source.kernel, self.names[:n_named], ())
        self.path = Path(folder) / f"{name}{ENDING}"
        self.points: list[Callable[[], Vector] | None] = [None] * len(tasks)  # the multipliers of each problem so far
        self.writing = threading.Lock()
        self.written = time.monotonic()
        self.has_failed = False

    # ---- before the fit

    def begin(self, tasks: Sequence[Task]) -> list[Task]:
        """Return the tasks, those without a start begun at the multipliers of the file."""
        known = self._read()
        begun = []
        for number, (task, dual, name) in enumerate(zip(tasks, self.duals, self.names)):
            start = restart(dual, known[name]) if name in known and task.start is None else None
            if start is not None:
                task = replace(task, start=start)
                self.points[number] = start.copy
            begun.append(task)
        return begun

    @property
    def has_begun(self) -> bool:
        """Whether there are multipliers of any problem."""
        return any(point is not None for point in self.points)

    def _read(self) -> dict[str, Vector]:
        """Return the multipliers of the file by the names of their problems; none if it is missing or damaged."""
        if not self.path.exists():
            others = sum(1 for _ in self.path.parent.glob(f"*{ENDING}"))
            if others:
                logger.info(
                    "%s has %d checkpoints of other fits, with other data or parameters: this fit starts anew.",
                    self.path.parent, others,
                )  # fmt: skip
            return {}
        try:
            known = read_multipliers(self.path, {name: len(dual) for name, dual in zip(self.names, self.duals)})
        except (FileError, OSError, MemoryError) as error:
            logger.warning("The checkpoint %s is not used, the fit starts anew: %s", self.path, error)
            return {}
        logger.info("The fit goes on from the checkpoint %s.", self.path)
        return known

    # ---- during the fit

    def listener(self, number: int, watch: Watch) -> Watch:
        """Return a listener of one problem that notes its multipliers and passes records on."""

        def note(now: Iteration) -> None:
            if now.multipliers is not None:
                self.points[number] = now.multipliers
            elif now.point is not None:
                point = now.point
                self.points[number] = lambda: point()[0].copy()
            self._write_if_due()
            watch(now)

        return note

    def done(self, number: int, beta: Vector) -> None:
        """Note the answer to a problem; it is written with the others."""
        self.points[number] = beta.copy
        self._write_if_due()

    def _write_if_due(self) -> None:
        if time.monotonic() - self.written >= EVERY:
            self.write()

    def write(self) -> None:
        """Write the multipliers of all problems so far, unless another thread is doing so; never raises FileError."""
        if not self.writing.acquire(blocking=False):
            return
        try:
            problems = {name: point() for name, point in zip(self.names, self.points) if point is not None}
            problems = {name: beta for name, beta in problems.items() if np.isfinite(beta).all()}
            if problems:
                write_multipliers(self.path, problems)
        except (FileError, OSError, MemoryError) as error:
            if not self.has_failed:
                logger.warning("No checkpoint is written, the fit goes on without: %s", error)
            self.has_failed = True
        finally:
            self.written = time.monotonic()
            self.writing.release()

    # ---- after the fit

    def end(self, answers: Sequence[Trained]) -> None:
        """Remove the file of a fit that has done what it can; write that of one that can be continued."""
        if any(answer.solution.status in UNFINISHED for answer in answers):
            self.write()
        else:
            with suppress(OSError):
                self.path.unlink(missing_ok=True)
