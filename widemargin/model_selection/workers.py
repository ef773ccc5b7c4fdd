"""Where a search trains its families: on threads of this process, or gamma by gamma in the workers of joblib.

n_jobs of the search    as many threads
n_jobs=None             what `joblib.parallel_config` says, if it is active; otherwise the threads of one fit
processes, clusters     chosen with `joblib.parallel_config`, as "loky" with n_jobs or "dask": a task for each gamma
"""

from __future__ import annotations

import joblib
from joblib.parallel import SequentialBackend, get_active_backend


def threads_of(n_jobs: int | None) -> int | None:
    """Return the threads of a search with this n_jobs; None for those that one fit of its estimator uses.

    Examples
    --------
    >>> import joblib
    >>> with joblib.parallel_config(backend="threading", n_jobs=3):
    ...     threads_of(None)
    3
    """
    backend, configured = get_active_backend()
    wanted = configured if n_jobs is None else n_jobs
    if wanted is None:
        return 1 if isinstance(backend, SequentialBackend) else None
    return int(joblib.effective_n_jobs(wanted))


def are_elsewhere(n_jobs: int | None) -> bool:
    """Whether the configuration of joblib asks for several workers outside this process."""
    backend, configured = get_active_backend()
    is_chosen = configured is not None or backend.default_n_jobs != 1  # not the default configuration
    wanted = next((number for number in (n_jobs, configured) if number is not None), backend.default_n_jobs)
    return is_chosen and not getattr(backend, "supports_sharedmem", False) and backend.effective_n_jobs(wanted) > 1
