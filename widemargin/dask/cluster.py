"""The only file that imports distributed: the client, tasks and their repetition, waits that end, counters.

A task is a pure function of values and of things kept on the cluster. What a lost worker took along is made again by
Dask from what it was made of; where Dask cannot (data sent from here, or a lost connection) the same is asked for again
under a new key. Nothing else is needed: F and b change only here, at the end of a round.

A wait ends by a result, by Ctrl-C or the time limit, or by a ClusterError that says why: no workers for
`worker_timeout` seconds, a scheduler that is gone, a task whose workers died one after the other.
See  distributed's documentation on resilience and killed workers.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError
from concurrent.futures import Future as Answer
from concurrent.futures import wait as wait_for
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakSet

import distributed
from distributed.client import ClosedClientError
from distributed.scheduler import KilledWorker

import widemargin
from widemargin.dask.sizes import bytes_of
from widemargin.monitor import clock
from widemargin.monitor.interrupt import FitEnded, StopRequested, StopSignal
from widemargin.monitor.status import Status
from widemargin.monitor.user_warning import warn_user

LOOK = 0.2  # seconds between two looks at Ctrl-C, the time limit and the cluster while nothing comes
SENDING = 5.0  # seconds to wait for a worker before data are sent
LOOK_AT_WORKERS = 1.0  # seconds between two questions to the scheduler
RECONNECT = 30.0  # seconds that a lost connection to the scheduler may take to come back
MOST_REPETITIONS = 20  # of one task, if something takes its data away each time
WORTH_MENTIONING = 5.0  # seconds without workers after which a note says what the fit waits for


#: what a call ends with whose worker, data or connection were lost
LOSSES = (CancelledError, OSError, TimeoutError, asyncio.TimeoutError)


class ClusterError(FitEnded):
    """The cluster cannot go on with a fit: no workers, no scheduler, or a task that ends its workers.

    If the solver had begun, the estimator is fitted with the best model so far, and `resume` continues from it.
    """


class ClusterLost(StopRequested):
    """Raised while waiting, to end the solver at its present point; `reason` is the error for the user."""

    def __init__(self, reason: ClusterError) -> None:
        super().__init__(Status.LOST)
        self.reason = reason


class Job(NamedTuple):
    """A task: its name on the dashboard, its function and arguments, the worker that should do it, and its slab."""

    name: str
    function: Callable[..., Any]
    arguments: Sequence[Any]
    worker: str | None = None
    slab: int = 0


class Kept:
    """A value on the cluster; made when first needed, and again if it is lost for good.

    start : asks the cluster for it
    """

    def __init__(self, start: Callable[[int], Any]) -> None:
        self._start, self._future, self._times = start, None, 0

    def future(self) -> Any:
        """Return the future of the value, asked for again if the last one was cancelled."""
        if self._future is None or self._future.status in ("cancelled", "error"):
            self._future = self._start(self._times)
            self._times += 1
        return self._future

    def drop(self) -> None:
        """Let the cluster forget the value; it is made again when it is needed."""
        self._future = None


class Worker(NamedTuple):
    """A worker process."""

    address: str
    n_threads: int
    memory_limit: int  # bytes; 0 without a limit


class Cluster:
    """The workers of one fit.

    Parameters
    ----------
    client : Client, or None for the one of the context
    worker_timeout : seconds without any worker after which a fit gives up
    stop : set by Ctrl-C or a callback
    deadline : value of the clock at which the time limit ends

    Attributes
    ----------
    failure : why the cluster cannot go on, or None
    sent, received, seconds_waiting, n_rounds : counted for the certificate
    """

    def __init__(
        self, client: Any = None, worker_timeout: float = 300.0, stop: StopSignal | None = None,
        deadline: float = math.inf,
    ) -> None:  # fmt: skip
        self.client: Any = client_of(client)
        self.worker_timeout, self.deadline = worker_timeout, deadline
        self.stop = StopSignal() if stop is None else stop
        self.fit, self._n_batches = uuid.uuid4().hex[:8], 0
        self._kept = WeakSet[Kept]()
        self.failure: ClusterError | None = None
        self.sent = self.received = self.n_rounds = 0
        self.seconds_waiting, self.began = 0.0, time.monotonic()
        self._without_workers: float | None = None  # since when
        self._disconnected: float | None = None
        self._looked_at_workers = -math.inf
        self._has_mentioned = False

    # ---- workers

    def workers(self) -> list[Worker]:
        """Return the workers, after waiting for the first; raise an error if their versions do not fit."""
        waits = _Patience(self)
        while True:
            addresses = self._cores_by_worker()
            if addresses:
                break
            self.look(waits)
            waits.pause()
        try:
            known = self.client.scheduler_info(n_workers=-1)["workers"]
        except TypeError:  # earlier versions always tell of all
            known = self.client.scheduler_info()["workers"]
        return [
            Worker(address, int(threads), int((known.get(address) or {}).get("memory_limit") or 0))
            for address, threads in sorted(addresses.items())
        ]

    def check_versions(self, workers: Sequence[Worker]) -> None:
        """Raise ClusterError if a worker runs another widemargin or Python; warn about other packages."""
        mine = versions()
        for worker in workers:
            theirs = self._versions_of(worker)
            if theirs is None:
                continue
            for name in ("widemargin", "source", "python"):
                if theirs.get(name) != mine[name]:
                    what = "widemargin" if name == "source" else name
                    raise ClusterError(
                        f"Worker {worker.address} has another version of {what} than this process: "
                        f"{theirs.get(name)} there, {mine[name]} here. Install the same versions on all workers."
                    )
            others = [name for name, number in mine.items() if theirs.get(name) != number]
            if others:
                differ = ", ".join(f"{name} {theirs.get(name)} there, {mine[name]} here" for name in others)
                warn_user(
                    f"Worker {worker.address} has other versions: {differ}. Answers may differ in rounding; install "
                    "the same versions if tasks fail.",
                    UserWarning,
                )

    def _versions_of(self, worker: Worker) -> dict[str, str] | None:
        """Return the versions on a worker; None if it is gone."""
        job = Job("versions", versions, (), worker.address)
        try:
            return self.results([job])[0]
        except (ImportError, AttributeError) as error:
            raise ClusterError(
                f"Worker {worker.address} cannot import widemargin.dask ({error}): install the same version of "
                "widemargin on all workers as here."
            ) from error

    # ---- tasks

    def keep(self, job: Job) -> Kept:
        """Return the value of a task, kept on the cluster."""
        self._n_batches += 1
        batch = self._n_batches
        return self._note(Kept(lambda times: self._submit(job, batch, times)))

    def send(self, values: Any, worker: str | None) -> Kept:
        """Return values of this process, kept on the cluster; sent again if they are lost there."""

        def start(times: int) -> Any:
            present = self._cores_by_worker()
            if not present:  # Dask would wait for some, and we look at other reasons to end meanwhile
                raise TimeoutError("There are no workers to send data to.")
            self.sent += bytes_of(values)
            workers = [worker] if worker in present else None
            return self.client.scatter(values, workers=workers, hash=False, timeout=SENDING)

        return self._note(Kept(start))

    def compute(self, delayed: Any) -> Kept:
        """Return the value of a delayed object of Dask, kept on the cluster."""
        return self._note(Kept(lambda times: self.client.compute(delayed)))

    def _note(self, value: Kept) -> Kept:
        self._kept.add(value)
        return value

    def forget(self) -> None:
        """Let the cluster forget all values: a fit is over, and an error that the user holds may refer to them."""
        for value in self._kept:
            value.drop()

    def results(self, jobs: Sequence[Job]) -> list[Any]:
        """Return the results of tasks, in the order of the jobs."""
        found = dict(self.each(jobs))
        return [found[number] for number in range(len(jobs))]

    def each(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Any]]:
        """Yield number and result of every job as results come; a job whose data were lost is asked for again."""
        if self.failure is not None:
            raise ClusterLost(self.failure)
        patience, open_jobs = _Patience(self), dict[Answer, tuple[int, int, Any]]()
        self._n_batches += 1
        batch = self._n_batches

        def ask(number: int, times: int) -> None:
            while True:
                try:
                    future = self._submit(jobs[number], batch, times)
                    break
                except (*LOSSES, ClosedClientError):
                    self.look(patience)
                    patience.pause()
            answer = asyncio.run_coroutine_threadsafe(_answer(future), self.client.loop.asyncio_loop)
            open_jobs[answer] = (number, times, future)

        try:
            for number in range(len(jobs)):
                ask(number, 0)
            while open_jobs:
                began = time.monotonic()
                done, _ = wait_for(open_jobs, LOOK, FIRST_COMPLETED)
                self.seconds_waiting += time.monotonic() - began
                if not done:
                    self.look(patience)
                for answer in done:
                    number, times, _ = open_jobs.pop(answer)
                    value, error = answer.result()
                    if error is None:
                        self.received += bytes_of(value)
                        self._without_workers = self._disconnected = None
                        yield number, value
                        continue
                    self._raise_if_final(error, jobs[number], times)
                    self.look(patience)
                    patience.pause()
                    ask(number, times + 1)
        finally:
            for answer, (_, _, future) in open_jobs.items():
                answer.cancel()
                future.release()

    def _submit(self, job: Job, batch: int, times: int) -> Any:
        """Start a task; its key tells what it does, for which fit and slab, and how often it was asked for."""
        arguments = [value.future() if isinstance(value, Kept) else value for value in job.arguments]
        self.sent += sum(bytes_of(value) for value in job.arguments if not isinstance(value, Kept))
        key = f"widemargin-{job.name}-{self.fit}-{batch}-{job.slab}" + (f"-again-{times}" if times else "")
        pins = {} if job.worker is None else {"workers": [job.worker], "allow_other_workers": True}
        return self.client.submit(job.function, *arguments, key=key, pure=False, **pins)

    def _raise_if_final(self, error: BaseException, job: Job, times: int) -> None:
        """Raise what a task failed with, unless its data were lost and it can be asked for again."""
        if isinstance(error, KilledWorker):
            self.fail(
                f"The task {job.name} ended {error.allowed_failures + 1} workers one after the other, so Dask does "
                "not try it again. Usual cause: a worker has not enough memory for its part of the data; use more "
                "workers, workers with more memory, or smaller chunks. Their logs say more. "
            )
        if not isinstance(error, LOSSES):
            raise error
        if times >= MOST_REPETITIONS:
            self.fail(f"The task {job.name} lost its data, or could not read them, {times + 1} times: {error!r}. ")

    # ---- waits that end

    def look(self, patience: _Patience) -> None:
        """Raise if there is a reason to end a wait."""
        if self.stop.is_set() and not patience.was_stopped:
            raise StopRequested(self.stop.status)
        if clock.now() > self.deadline > patience.began:
            raise StopRequested(Status.TIME_LIMIT)
        now = time.monotonic()
        if self.client.status != "running":
            self._disconnected = now if self._disconnected is None else self._disconnected
            gone = self.client.status in ("closed", "closing")
            if gone or now - self._disconnected > min(RECONNECT, self.worker_timeout):
                self.fail("The connection to the scheduler is lost, and with it all that lay on the cluster. ")
            return
        self._disconnected = None
        if now - self._looked_at_workers < LOOK_AT_WORKERS:
            return
        self._looked_at_workers = now
        if self._cores_by_worker() != {}:
            self._without_workers = None
            return
        self._without_workers = now if self._without_workers is None else self._without_workers
        waited = now - self._without_workers
        if waited > self.worker_timeout:
            self.fail(f"The cluster has had no workers for {self.worker_timeout:g} s (worker_timeout). Start workers. ")
        if waited > WORTH_MENTIONING and not self._has_mentioned:
            self._has_mentioned = True
            warn_user(
                f"The cluster has no workers; the fit waits for one up to {self.worker_timeout:g} s (worker_timeout).",
                UserWarning,
            )

    def _cores_by_worker(self) -> dict[str, int] | None:
        """Return the cores of each worker; None if the scheduler does not say within some seconds, or is gone."""
        if self.client.scheduler is None:  # the client has closed
            return None
        try:
            return self.client.sync(self.client.scheduler.ncores, callback_timeout=10.0)  # type: ignore[no-any-return]
        except (*LOSSES, ClosedClientError):
            return None

    def fail(self, sentence: str) -> None:
        """End the fit: raise what ends the solver at its present point, and remember why for the user."""
        self.failure = ClusterError(sentence.strip())
        raise ClusterLost(self.failure)


class _Patience:
    """What was true when a wait began: it does not end by what ended the solver before, for the certificate's sake."""

    def __init__(self, cluster: Cluster) -> None:
        self.was_stopped, self.began = cluster.stop.is_set(), clock.now()

    def pause(self) -> None:
        """Wait until it is worth asking again."""
        time.sleep(LOOK)


async def _answer(future: Any) -> tuple[Any, BaseException | None]:
    """Return the result of a task and the error it failed with, one of them None."""
    try:
        return await future._result(), None
    except (Exception, asyncio.CancelledError) as error:
        return None, CancelledError() if isinstance(error, asyncio.CancelledError) else error


def client_of(given: Any) -> distributed.Client:
    """Return the client to use: the given one, or that of the context."""
    if given is None:
        try:
            given = distributed.get_client()
        except ValueError:
            raise ValueError(
                "There is no Dask client: create one first, client = dask.distributed.Client('scheduler:8786'), or "
                "Client() for the cores of this machine; or pass client= to the estimator."
            ) from None
    if not isinstance(given, distributed.Client):
        raise TypeError(f"client must be a dask.distributed.Client; got {type(given).__name__}.")
    if given.asynchronous:
        raise TypeError("client is asynchronous, and a fit waits for its tasks: use Client(..., asynchronous=False).")
    if given.status in ("closed", "closing"):
        raise ClusterError("The client is closed: create a new one, and call fit or resume with it.")
    return given


@cache
def versions() -> dict[str, str]:
    """Return the versions that must be equal everywhere, and those that should be."""
    import numba
    import numpy
    import scipy

    digest = hashlib.sha256()
    folder = Path(widemargin.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.read_bytes())
    return {
        "widemargin": widemargin.__version__,
        "source": digest.hexdigest()[:12],
        "python": ".".join(map(str, sys.version_info[:2])),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
    }
