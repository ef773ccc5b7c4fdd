"""`widemargin info`: versions and hardware, for bug reports."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace

from widemargin import __version__
from widemargin.cli.command import FINE, new_command
from widemargin.cli.screen import Screen, two_columns

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "rich", "click", "pyarrow", "matplotlib", "onnx", "dask")


@new_command("info")
def command(options: SimpleNamespace, screen: Screen) -> int:
    """Versions, threads, memory, the folder of compiled functions, the CPU.

    Examples
    --------
    widemargin info
        Versions, threads, memory, cache folder, CPU.
    widemargin info --json
        As JSON.
    """
    from llvmlite.binding import get_host_cpu_name

    from widemargin.gram.budget import cache_budget, free_memory
    from widemargin.parallel.tiles import available_cores

    folder = cache_folder()
    facts = {
        "widemargin": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "cpu": get_host_cpu_name(),  # in the words of LLVM, which compiles for it
        "threads": available_cores(),
        "free memory, MB": free_memory() >> 20,
        "kernel rows by default, MB": cache_budget(None) >> 20,
        "compiled functions in": str(folder) if folder else "memory only, no folder can be written",
        "compiled functions, MB": round(_size(folder) / 1e6, 1),
        **{package: _version(package) for package in PACKAGES},
    }
    table = two_columns()
    for name, value in facts.items():
        table.add_row(
            name, "not installed" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
        )
    screen.show(table)
    screen.finish(command="info", **{name.replace(",", "").replace(" ", "_"): value for name, value in facts.items()})
    return FINE


def cache_folder() -> Path | None:
    """Folder below which Numba keeps the compiled functions of this installation; None if it keeps none on disk."""
    from widemargin.io.decimal_number import parse_number

    cache = getattr(parse_number, "_cache", None)  # missing where functions run as plain Python
    return cache.folder() if cache else None


def _size(folder: Path | None) -> int:
    """Bytes of compiled functions below a folder."""
    if folder is None or not folder.is_dir():
        return 0
    return sum(path.stat().st_size for ending in ("*.nbc", "*.nbi") for path in folder.rglob(ending))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
