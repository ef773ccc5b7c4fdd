"""Import a module when a name in it is first used, and report errors raised by the import; imports and garbage.

`from widemargin import SVC` looks up an attribute of the package. Python takes an AttributeError to mean that there is
none and reports "cannot import name 'SVC'", even if the error was raised inside a module that `SVC` needs. Here such an
error becomes an ImportError, which Python passes on, with the original error as its cause.
"""

from __future__ import annotations

import gc
import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any


def load(name: str) -> ModuleType:
    """Return the module of that name, imported if necessary."""
    try:
        return importlib.import_module(name)
    except AttributeError as error:
        raise ImportError(f"Importing {name} failed with AttributeError: {error}", name=name) from error


def names_of(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package whose names are defined in these modules of it."""

    def __getattr__(name: str) -> Any:
        if name in homes:
            return getattr(load(f"{package}.{homes[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return __getattr__


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Context for imports and the compiler, whose many objects set off collections that take up to 15 % of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
