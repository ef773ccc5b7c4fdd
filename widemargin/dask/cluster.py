"""The only file that imports distributed: the client, tasks and their repetition, counters.

A task is a pure function of values and of things kept on the cluster. What a lost worker took along is made again by
Dask from what it was made of; where Dask cannot (data sent from here, or a lost connection) the same is asked for again
under a new key. Nothing else is needed: F and b change only here, at the end of a round.

See  distributed's documentation on resilience and killed workers.
"""

from __future__ import annotations

import asyncio
import math
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError
from concurrent.futures import Future as Answer
from concurrent.futures import wait as wait_for
from typing import Any, NamedTuple
from weakref import WeakSet

import distributed
from distributed.client import ClosedClientError
from distributed.scheduler import KilledWorker

from widemargin.dask.sizes import bytes_of
from widemargin.dask.versions import check_versions, versions
from widemargin.dask.waits import LOOK, ClusterError, Waits
from widemargin.monitor.interrupt import StopSignal

SENDING = 5.0  # seconds to wait for a worker before data are sent
MOST_REPETITIONS = 20  # of one task, if something takes its data away each time

#: what a call ends with whose worker, data or connection were lost
LOSSES = (CancelledError, OSError, TimeoutError, asyncio.TimeoutError, ClosedClientError)


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
    worker_timeout : seconds without a worker that takes tasks after which a fit gives up
    stop : set by Ctrl-C or a callback

    Attributes
    ----------
    waits : what ends waits; it has the deadline, and why the cluster cannot go on, if it cannot
    sent, received, n_rounds : counted for the certificate
    """

    def __init__(self, client: Any = None, worker_timeout: float = 300.0, stop: StopSignal | None = None) -> None:
        self.client: Any = client_of(client)
        self.waits = Waits(self.client, self._ask, worker_timeout, StopSignal() if stop is None else stop)
        self.fit, self._n_batches = uuid.uuid4().hex[:8], 0
        self._kept = WeakSet[Kept]()
        self.sent = self.received = self.n_rounds = 0
        self.began = time.monotonic()

    # ---- workers

    def _ask(self, question: str) -> Any:
        """Return what the scheduler answers; None if it does not within some seconds, or is gone."""
        if self.client.scheduler is None:  # the client has closed
            return None
        try:
            return self.client.sync(getattr(self.client.scheduler, question), callback_timeout=10.0)
        except LOSSES:
            return None

    def workers(self) -> list[Worker]:
        """Return the workers, after waiting for the first; raise an error if their versions do not fit."""
        wait = self.waits.begin()
        while not (addresses := self.waits.cores_by_worker()):
            wait.pause()
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
        for worker in workers:
            theirs = self._versions_of(worker)
            if theirs is not None:
                check_versions(worker.address, theirs)

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
            present = self.waits.cores_by_worker()
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

    def each(self, jobs: Iterable[Job], most: float = math.inf) -> Iterator[tuple[int, Any]]:
        """Yield number and result of every job as results come; a job whose data were lost is asked for again.

        most : jobs at a time; the next is made when one has ended
        """
        wait, open_jobs = self.waits.begin(), dict[Answer, tuple[int, Job, int, Any]]()
        self._n_batches += 1
        batch, waiting = self._n_batches, enumerate(jobs)

        def ask(number: int, job: Job, times: int) -> None:
            while True:
                try:
                    future = self._submit(job, batch, times)
                    break
                except LOSSES:
                    wait.pause()
            answer = asyncio.run_coroutine_threadsafe(_answer(future), self.client.loop.asyncio_loop)
            open_jobs[answer] = (number, job, times, future)

        try:
            while True:
                while len(open_jobs) < most and (new := next(waiting, None)) is not None:
                    ask(*new, 0)
                if not open_jobs:
                    return
                began = time.monotonic()
                done, _ = wait_for(open_jobs, LOOK, FIRST_COMPLETED)
                self.waits.seconds += time.monotonic() - began
                if not done:
                    wait.look()
                for answer in done:
                    number, job, times, _ = open_jobs.pop(answer)
                    value, error = answer.result()
                    if error is None:
                        self.received += bytes_of(value)
                        self.waits.note_result()
                        yield number, value
                        continue
                    self._raise_if_final(error, job, times)
                    wait.pause()
                    ask(number, job, times + 1)
        finally:
            for answer, (_, _, _, future) in open_jobs.items():
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
            self.waits.fail(
                f"The task {job.name} ended {error.allowed_failures + 1} workers one after the other, so Dask does "
                "not try it again. Usual cause: a worker has not enough memory for its part of the data; use more "
                "workers, workers with more memory, or smaller chunks. Their logs say more. "
            )
        if not isinstance(error, LOSSES):
            raise error
        if times >= MOST_REPETITIONS:
            self.waits.fail(
                f"The task {job.name} lost its data, or could not read them, {times + 1} times: {error!r}. "
            )


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
