"""Import a module when a name in it is first asked for, and show what went wrong in it if that fails.

`from widemargin import SVC` asks the package for an attribute. Python takes an AttributeError for the answer "there is
none" and says "cannot import name 'SVC'", also where the error came from the middle of a module that `SVC` needs. Here
such an error becomes an ImportError, which Python passes on, with the real one as its cause.
"""

from __future__ import annotations

import importlib
from types import ModuleType


def load(name: str) -> ModuleType:
    """The module of that name, imported if need be."""
    try:
        return importlib.import_module(name)
    except AttributeError as error:
        raise ImportError(f"Importing {name} failed with AttributeError: {error}", name=name) from error
