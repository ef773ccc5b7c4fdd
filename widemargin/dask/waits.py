"""Waits for a cluster that end: by a result, by Ctrl-C or the time limit, or by a ClusterError that says why.

A cluster cannot go on if it has had no workers that take tasks for `worker_timeout` seconds, if a worker that Dask has
paused (for want of memory) has held tasks as long while nothing came, or if the scheduler is gone.
See  distributed's documentation on resilience and worker memory management.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from widemargin.monitor import clock
from widemargin.monitor.interrupt import FitEnded, StopRequested, StopSignal
from widemargin.monitor.status import Status
from widemargin.monitor.user_warning import warn_user

LOOK = 0.2  # seconds between two looks at Ctrl-C, the time limit and the cluster while nothing comes
LOOK_AT_WORKERS = 1.0  # seconds between two questions to the scheduler
RECONNECT = 30.0  # seconds that a lost connection to the scheduler may take to come back
WORTH_MENTIONING = 5.0  # seconds without workers after which a note says what the fit waits for


class ClusterError(FitEnded):
    """The cluster cannot go on with a fit: no workers, no scheduler, or a task that ends its workers.

    If the solver had begun, the estimator is fitted with the best model so far, and `resume` continues from it.
    """


class ClusterLost(StopRequested):
    """Raised while waiting, to end the solver at its present point; `reason` is the error for the user."""

    def __init__(self, reason: ClusterError) -> None:
        super().__init__(Status.LOST)
        self.reason = reason


class Waits:
    """What ends the waits of one fit.

    Parameters
    ----------
    client : Client
    ask : answers a question to the scheduler by its name; None if it does not answer
    worker_timeout : seconds without a worker that takes tasks after which a fit gives up
    stop : set by Ctrl-C or a callback

    Attributes
    ----------
    deadline : value of the clock at which the time limit ends
    failure : why the cluster cannot go on, or None
    seconds : spent waiting for results
    """

    def __init__(self, client: Any, ask: Callable[[str], Any], worker_timeout: float, stop: StopSignal) -> None:
        self.client, self.ask, self.worker_timeout, self.stop = client, ask, worker_timeout, stop
        self.deadline = math.inf
        self.failure: ClusterError | None = None
        self.seconds = 0.0
        self._since: dict[str, float] = {}  # when each kind of trouble was first seen
        self._looked_at_workers = -math.inf
        self._has_mentioned = False

    def begin(self) -> Wait:
        """Return the beginning of a wait; raise if the cluster was lost before."""
        if self.failure is not None:
            raise ClusterLost(self.failure)
        return Wait(self)

    def fail(self, sentence: str) -> None:
        """End the fit: raise what ends the solver at its present point, and remember why for the user."""
        self.failure = ClusterError(sentence.strip())
        raise ClusterLost(self.failure)

    def note_result(self) -> None:
        """Note that something came, which ends all trouble."""
        self._since.clear()

    def look_at_cluster(self) -> None:
        """Raise if the cluster cannot go on."""
        if self.client.status != "running":
            gone = self.client.status in ("closed", "closing")
            if gone or self._lasts("disconnected", True) > min(RECONNECT, self.worker_timeout):
                self.fail("The connection to the scheduler is lost, and with it all that lay on the cluster. ")
            return
        self._lasts("disconnected", False)
        if time.monotonic() - self._looked_at_workers < LOOK_AT_WORKERS:
            return
        self._looked_at_workers = time.monotonic()
        present, running = self.cores_by_worker(), self.ask("ncores_running")
        if present is None or running is None:
            return
        paused = sorted(set(present) - set(running))
        waited = self._lasts("no workers", not running)
        if waited > self.worker_timeout:
            self.fail(f"The cluster has had no workers for {self.worker_timeout:g} s (worker_timeout){why(paused)}. ")
        if waited > WORTH_MENTIONING and not self._has_mentioned:
            self._has_mentioned = True
            warn_user(
                f"The cluster has no workers{why(paused)}; the fit waits for one up to {self.worker_timeout:g} s "
                "(worker_timeout).",
                UserWarning,
            )
        held = self.ask("processing") if paused else {}
        if self._lasts("held", any((held or {}).get(worker) for worker in paused)) > self.worker_timeout:
            self.fail(f"A worker has held tasks for {self.worker_timeout:g} s (worker_timeout){why(paused)}. ")

    def _lasts(self, trouble: str, is_there: bool) -> float:
        """Return for how many seconds a trouble has been seen."""
        if not is_there:
            self._since.pop(trouble, None)
            return 0.0
        return time.monotonic() - self._since.setdefault(trouble, time.monotonic())

    def cores_by_worker(self) -> dict[str, int] | None:
        """Return the cores of each worker; None if the scheduler does not say within some seconds, or is gone."""
        return self.ask("ncores")


def why(paused: list[str]) -> str:
    """Return what to do about the workers, as the end of a sentence."""
    if not paused:
        return ": start workers"
    return f": Dask has paused {', '.join(paused)} for want of memory. Use more workers, or workers with more memory"


class Wait:
    """What was true when a wait began: it does not end by what ended the solver before, for the certificate's sake."""

    def __init__(self, waits: Waits) -> None:
        self.waits, self.was_stopped, self.began = waits, waits.stop.is_set(), clock.now()

    def look(self) -> None:
        """Raise if there is a reason to end the wait."""
        if self.waits.stop.is_set() and not self.was_stopped:
            raise StopRequested(self.waits.stop.status)
        if clock.now() > self.waits.deadline > self.began:
            raise StopRequested(Status.TIME_LIMIT)
        self.waits.look_at_cluster()

    def pause(self) -> None:
        """Look, and wait until it is worth asking again."""
        self.look()
        time.sleep(LOOK)
