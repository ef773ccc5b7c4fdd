"""A joblib backend that sees all tasks of a search before the first one runs.

`fit` of scikit-learn's searches makes one call of `joblib.Parallel` on `_fit_and_score` for all candidates and splits.
Under this backend joblib only collects the calls. When the first result is asked for, the calls of `_fit_and_score` are
handed to a function that may do some of them its own way; the remaining ones go, in their order, through an ordinary
`joblib.Parallel` with the `n_jobs` and `pre_dispatch` of the search.

The backend is active for the first `Parallel` that starts within `collecting` only: it gives the joblib configuration
back at that moment. The remaining tasks, nested calls and the final refit therefore run as without it.

While calls are collected, Ctrl-C only sets a flag, and the next call raises KeyboardInterrupt. Python drops an
exception that comes while the interpreter is in a `__del__`, or in a callback of a weak reference or of the garbage
collector, and there are many of these among the clones of thousands of candidates.

See  https://joblib.readthedocs.io/en/stable/custom_parallel_backend.html
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import joblib
from joblib.parallel import ParallelBackendBase

from widemargin import _sklearn
from widemargin.model_selection.tasks import Done, Task, has_callbacks
from widemargin.monitor.interrupt import CtrlC

Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
TrainTogether = Callable[[Sequence[Task], int | None], dict[int, Done]]

# Number of workers reported to joblib: not 1, which would run tasks at once, and at least the number of tasks, so that
# one batch is one task and all are dispatched at the start.
MANY_WORKERS = 1_000_000


@contextmanager
def collecting(
    train_together: TrainTogether, n_jobs: int | None, pre_dispatch: int | str | None
) -> Iterator[CollectingBackend]:
    """Within the block, collect the tasks of the first joblib.Parallel that starts in this thread."""
    backend = CollectingBackend(train_together, n_jobs, pre_dispatch)
    backend.active = joblib.parallel_config(backend=backend)
    try:
        yield backend
    finally:
        backend.active.unregister()
        backend.end_of_collecting()


class CollectingBackend(ParallelBackendBase):
    """See the top of the module. `done` has the families' answer for each task that was run, or None."""

    supports_sharedmem = True  # require="sharedmem" is left to the Parallel that runs the remaining tasks
    uses_threads = True

    def __init__(self, train_together: TrainTogether, n_jobs: int | None, pre_dispatch: int | str | None) -> None:
        super().__init__()
        self.train_together = train_together
        self.n_jobs = n_jobs
        self.pre_dispatch = pre_dispatch
        self.active: Any = None  # the joblib.parallel_config that activates this backend
        self.ctrl_c: CtrlC | None = None  # while calls are collected
        self.waiting: list[Batch] = []
        self.done: list[Done | None] = []

    def effective_n_jobs(self, n_jobs: int) -> int:
        """Return the number of workers as joblib is to see it."""
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        return MANY_WORKERS

    def configure(self, n_jobs: int = 1, parallel: Any = None, **settings: Any) -> int:
        """Start of a Parallel: let it dispatch everything silently, and give the configuration back."""
        self.active.unregister()
        parallel.pre_dispatch = "all"
        parallel.verbose = 0
        self.ctrl_c = CtrlC()
        self.ctrl_c.__enter__()
        return self.effective_n_jobs(n_jobs)

    def submit(self, func: Any, callback: Callable[..., None] | None = None) -> Batch:
        """Store a batch of calls."""
        self._raise_if_pressed()
        batch = Batch(self, func, callback)
        self.waiting.append(batch)
        return batch

    apply_async = submit  # its name before joblib 1.5

    def run(self) -> None:
        """Run all calls that are waiting."""
        self._raise_if_pressed()
        self.end_of_collecting()
        batches, self.waiting = self.waiting, []
        calls = [call for batch in batches for call in batch.calls]
        done = self._together(calls)
        rest = [number for number in range(len(calls)) if number not in done]
        results = {number: answer.result for number, answer in done.items()}
        if rest:
            parallel = joblib.Parallel(n_jobs=self.n_jobs, pre_dispatch=self.pre_dispatch)
            results.update(zip(rest, parallel(calls[number] for number in rest)))
        self.done += [done.get(number) for number in range(len(calls))]
        numbers = iter(range(len(calls)))
        for batch in batches:
            batch.results = [results[next(numbers)] for _ in batch.calls]

    def _raise_if_pressed(self) -> None:
        if self.ctrl_c is not None and self.ctrl_c.requested.is_set():
            raise KeyboardInterrupt

    def end_of_collecting(self) -> None:
        """Ctrl-C is as before from here on."""
        ctrl_c, self.ctrl_c = self.ctrl_c, None
        if ctrl_c is not None:
            ctrl_c.__exit__(*sys.exc_info())
            if ctrl_c.requested.is_set() and sys.exc_info()[0] is None:
                raise KeyboardInterrupt

    def _together(self, calls: list[Call]) -> dict[int, Done]:
        """Hand over the calls of `_fit_and_score`; return answers by the number of the call."""
        tasks = {number: task for number, call in enumerate(calls) if (task := task_of(call)) is not None}
        if not tasks:
            return {}
        numbers = list(tasks)
        # scikit-learn's wrapper sets the configuration and the warning filters of its tasks: here for all at once
        wrapper: Any = copy.copy(calls[numbers[0]][0])
        wrapper.function = self.train_together
        return {numbers[position]: answer for position, answer in wrapper(list(tasks.values()), self.n_jobs).items()}


class Batch:
    """Calls that joblib dispatched together, as the future that it expects."""

    def __init__(self, backend: CollectingBackend, func: Any, callback: Callable[..., None] | None) -> None:
        self.backend = backend
        items = getattr(func, "items", None)  # of joblib's BatchedCalls
        self.is_list = isinstance(items, list)
        self.calls: list[Call] = items if self.is_list else [(func, (), {})]  # type: ignore[assignment]
        self.callback = callback
        self.results: list[Any] | None = None

    def get(self, timeout: float | None = None) -> list[Any]:
        """Return the results; the first batch that is asked runs all of them."""
        if self.results is None:
            self.backend.run()
        if self.callback is not None:
            self.callback(self.results)  # joblib counts completed batches by it
        assert self.results is not None
        return self.results if self.is_list else self.results[0]


def task_of(call: Call) -> Task | None:
    """Return a call of `_fit_and_score` as a task, or None if it has to be run by scikit-learn."""
    function, args, kwargs = call
    if getattr(function, "function", None) is not _sklearn.fit_and_score:
        return None
    try:
        task = Task(*args, **kwargs)
    except TypeError:  # arguments of a later version
        return None
    values = (task.parameters or {}).values()
    if task.return_estimator or any(has_callbacks(value) for value in values if hasattr(value, "get_params")):
        return None
    return task
