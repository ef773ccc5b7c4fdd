"""Memory limit of the row cache: the user's number of megabytes, or a share of the free memory."""

from __future__ import annotations

import os

FREE_SHARE = 0.4  # share of the memory free now; used only as rows are stored
FALLBACK = 1 << 30  # bytes, if the system reports no number


def cache_budget(cache_size: float | None) -> int:
    """Bytes for rows: `cache_size` megabytes as in scikit-learn, or by default a share of the free memory."""
    if cache_size is not None:
        return int(cache_size * (1 << 20))
    return int(FREE_SHARE * free_memory())


def free_memory() -> int:
    """Bytes available without swapping."""
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return FALLBACK
