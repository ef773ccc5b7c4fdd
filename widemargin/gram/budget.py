"""Memory limit of the row cache: the user's number of megabytes, or a share of the free memory."""

from __future__ import annotations

from widemargin.gram.free_memory import free_memory, memory_share

FREE_SHARE = 0.4  # of the memory free now and meant for this process; used only as rows are stored
LEFT_SHARE = 0.5  # of the memory free now: if others take so much meanwhile that less is left, no more rows are stored


def cache_budget(cache_size: float | None) -> int:
    """Bytes for rows: `cache_size` megabytes as in scikit-learn, or by default a share of the free memory."""
    if cache_size is not None:
        return int(cache_size * (1 << 20))
    return int(FREE_SHARE * memory_share() * free_memory())


def least_free(cache_size: float | None) -> int:
    """Bytes of free memory below which no more rows are stored; 0 for a cache of the user's size."""
    return int(LEFT_SHARE * free_memory()) if cache_size is None else 0
