"""What the figures were measured on: processor, memory, versions, commit."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.peers.driver import ROOT
from benchmarks.peers.libraries import LIBRARIES

PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "scikit-learn")


def describe(threads: int) -> dict[str, Any]:
    """Machine, versions and commit, for the results file."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": threads,
        "memory_gb": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9, 1),
        "load_at_start": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES},
        "libraries": {name: kind.version() for name, kind in LIBRARIES.items() if kind.installed()},
        "missing": [name for name, kind in LIBRARIES.items() if not kind.installed()],
        "commit": commit(),
        "date": datetime.date.today().isoformat(),
    }


def commit() -> str:
    """Short hash of the sources measured, with a plus sign where they were changed since; "unknown" outside git."""
    try:
        asked = {"cwd": ROOT, "capture_output": True, "text": True, "check": True}
        short = subprocess.run(["git", "rev-parse", "--short", "HEAD"], **asked).stdout.strip()
        changed = subprocess.run(["git", "status", "--porcelain", "--", "widemargin"], **asked).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return short + ("+" if changed else "")


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
