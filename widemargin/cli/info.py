"""`widemargin info`: versions and hardware, for bug reports; with a model file, what it holds."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace

import click

from widemargin import __version__
from widemargin.cli.command import FINE, new_command
from widemargin.cli.paths import FILE
from widemargin.cli.screen import Screen, certificate_table, two_columns
from widemargin.monitor.printable import printable

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "rich", "click", "pyarrow", "matplotlib", "onnx", "dask")


@new_command("info")
@click.argument("model", type=FILE, required=False)
def command(options: SimpleNamespace, screen: Screen) -> int:
    """Describe a MODEL file; without one: versions, threads, memory, the folder of compiled functions, the CPU.

    The certificate of a model is shown as its file states it; `widemargin verify` computes it anew.

    Examples
    --------
    widemargin info
        Versions, threads, memory, cache folder, CPU.
    widemargin info a9a.model
        Kind, kernel, parameters, classes, features and certificate of a model.
    widemargin info --json
        As JSON.
    """
    if options.model is not None:
        return _describe(options.model, screen)
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


def _describe(path: str, screen: Screen) -> int:
    """Show what a model file holds."""
    from rich.text import Text

    from widemargin.cli.model_facts import lines_of, model_facts

    facts, certificate = model_facts(path)
    table = two_columns()
    for name, value in lines_of(facts):
        table.add_row(name, Text(printable(value)))
    screen.show(table)
    if certificate is not None:
        screen.show("The certificate, as stated in the file (`widemargin verify` computes it anew):")
        screen.show(certificate_table(certificate))
    screen.finish(command="info", model=path, **facts)
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
