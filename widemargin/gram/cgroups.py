"""Limits of Linux control groups, by which containers and batch systems confine a process.

A process is in one group of each hierarchy (/proc/self/cgroup), and is bound by the limits of that group and of all
groups above it. Version 2 has one hierarchy, version 1 one per resource; a system may use both. Inside a container the
path may be that of the host, which cannot be seen there: folders that do not exist are skipped, and the root is the
container's own group.

Page cache counts as used by the group that read the file, although it is dropped when memory is needed: the part of it
that was not read recently (inactive_file) is counted as free, as the kernel does in MemAvailable.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")
UNLIMITED = 2.0**60  # bytes; version 1 writes the largest number of pages where there is no limit


def memory_left() -> float:
    """Bytes that the process may still take within the limits of its groups; infinite without a limit."""
    left = float("inf")
    for folder, limit in _memory_limits():
        used = min(_number(folder / name) for name in ("memory.current", "memory.usage_in_bytes"))
        if used < float("inf"):
            left = min(left, limit - max(0.0, used - _inactive_files(folder)))
    return max(0.0, left)


@cache
def _memory_limits() -> list[tuple[Path, float]]:
    """The groups with a limit, and the limits; read once per process, because it takes as long as a small fit."""
    names = ("memory.max", "memory.high", "memory.limit_in_bytes")
    limits = [(folder, min(_number(folder / name) for name in names)) for folder in _folders("memory")]
    return [(folder, limit) for folder, limit in limits if limit < UNLIMITED]


@cache
def core_quota() -> float:
    """Cores' worth of time that the groups of the process allow it; infinite without a limit."""
    quota = float("inf")
    for folder in _folders("cpu"):
        allowed, _, period = _text(folder / "cpu.max").partition(" ")  # version 2: "200000 100000" or "max 100000"
        if not allowed:
            allowed, period = _text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us")
        if allowed.isdecimal() and period.isdecimal() and int(period) > 0:
            quota = min(quota, int(allowed) / int(period))
    return quota


def _folders(resource: str) -> Iterator[Path]:
    """Folders of the groups that bind this process, from its own up to the root of each hierarchy."""
    for line in _text(MEMBERSHIP).splitlines():  # "4:memory:/path" (version 1) or "0::/path" (version 2)
        _, _, rest = line.partition(":")
        resources, _, path = rest.partition(":")
        if resources and resource not in resources.split(","):
            continue
        roots = [CGROUPS / resources, CGROUPS / resource] if resources else [CGROUPS, CGROUPS / "unified"]
        for root in dict.fromkeys(roots):
            own = root / path.lstrip("/")
            yield from (folder for folder in (own, *own.parents) if folder.is_relative_to(root) and folder.is_dir())


def _inactive_files(folder: Path) -> float:
    """Bytes of page cache of a group, those below it included, that can be dropped at once."""
    lines = dict(line.partition(" ")[::2] for line in _text(folder / "memory.stat").splitlines())
    text = lines.get("total_inactive_file", lines.get("inactive_file", "0"))  # version 1 counts subgroups in total_...
    return float(text) if text.isdecimal() else 0.0


def _number(file: Path) -> float:
    """The number in a file; infinite if there is none ("max") or no such file."""
    text = _text(file)
    return float(text) if text.isdecimal() else float("inf")


def _text(file: Path) -> str:
    """Content of a file; empty if it cannot be read."""
    try:
        return file.read_text().strip()
    except (OSError, ValueError):
        return ""
