"""Memory that this process may take: what is free by every limit, divided by the workers that share the machine.

The smallest counts of: memory available without swapping, as the system reports it; the limits of the control groups
(cgroups.py); the limit on the address space (ulimit -v).

Workers     Processes that work side by side (joblib, Dask) are each given a number of threads in OMP_NUM_THREADS. The
            share of memory is the share of cores. Workers of pytest-xdist are not limited in threads, but counted in
            PYTEST_XDIST_WORKER_COUNT. Other processes of the same size are not seen; a fit therefore looks again while
            it stores rows (gram/cached.py).
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

from widemargin.gram import cgroups
from widemargin.parallel.tiles import available_cores

FALLBACK = 1 << 30  # bytes, if the system reports no number
LEAST_SHARE = 1 / 8  # of the free memory
MEMINFO = "/proc/meminfo"


def free_memory() -> int:
    """Bytes that this process may take without swapping and within its limits."""
    return int(min(_available(), cgroups.memory_left(), _address_space_left()))


def memory_share() -> float:
    """Share of the free memory that is meant for this process, by its share of the cores, but not below LEAST_SHARE.

    OMP_NUM_THREADS=1 may mean one worker among many, or one process that has the machine for itself.
    """
    mask = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    cores = min(max(1.0, cgroups.core_quota()), mask or 1)
    workers = os.environ.get("PYTEST_XDIST_WORKER_COUNT", "")
    beside = int(workers) if workers.isdecimal() and int(workers) > 0 else 1
    return max(LEAST_SHARE, min(1.0, available_cores() / cores, 1.0 / beside))


def _available() -> float:
    """Bytes available without swapping on this machine."""
    try:
        if sys.platform == "win32":
            return _windows_available()
        if sys.platform == "darwin":
            # the percentage that the command memory_pressure prints; most memory that is not "free" can be reclaimed
            return _sysctl("hw.memsize", ctypes.c_uint64) * _sysctl("kern.memorystatus_level", ctypes.c_int) / 100.0
        with open(MEMINFO) as lines:
            found = dict(line.split(":", 1) for line in lines)
        return float(found["MemAvailable"].split()[0]) * 1024.0
    except (OSError, AttributeError, KeyError, ValueError):
        pass
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (ValueError, OSError, AttributeError):
        return float(FALLBACK)


def _sysctl(name: str, kind: Any) -> int:
    """A number of the macOS kernel."""
    value = kind()
    size = ctypes.c_size_t(ctypes.sizeof(value))
    if ctypes.CDLL(None).sysctlbyname(name.encode(), ctypes.byref(value), ctypes.byref(size), None, 0) != 0:
        raise OSError(f"no sysctl {name}")
    return int(value.value)


class _MemoryStatus(ctypes.Structure):
    """MEMORYSTATUSEX of the Windows API."""

    _fields_ = (
        ("length", ctypes.c_uint32),
        ("load", ctypes.c_uint32),
        *((name, ctypes.c_uint64) for name in ("total", "available", "total_commit", "available_commit")),
        *((name, ctypes.c_uint64) for name in ("total_virtual", "available_virtual", "extended")),
    )


def _windows_available() -> float:
    """Bytes that are free in memory and can be committed."""
    status = _MemoryStatus()
    status.length = ctypes.sizeof(status)
    if not ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):  # type: ignore[attr-defined]
        raise OSError("GlobalMemoryStatusEx failed")
    return float(min(status.available, status.available_commit, status.available_virtual))


def _address_space_left() -> float:
    """Bytes left of the limit on the address space; infinite without a limit."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return float("inf")
        with open("/proc/self/statm") as pages:
            used = int(pages.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        return max(0.0, float(limit - used))
    except (ImportError, AttributeError, OSError, ValueError):
        return float("inf")
