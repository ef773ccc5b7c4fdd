"""The public interface as text: names, signatures with defaults, public attributes of fitted estimators.

`python -m tests.project.public_api` writes it to `api.txt`; `test_public_api.py` compares.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import re
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import widemargin
from widemargin.estimators.registry import ESTIMATORS

FILE = Path(__file__).with_name("api.txt")
MODULES = ("widemargin", *(f"widemargin.{name}" for name in widemargin._PUBLIC_MODULES), "widemargin.solvers.reference")
PUBLIC_BASES = ("Kernel", "FeatureKernel")


def describe() -> str:
    """The whole interface, one name per line."""
    lines = [line for name in MODULES for line in of_module(importlib.import_module(name))]
    for name in ESTIMATORS:
        attributes = ", ".join(fitted_attributes(getattr(widemargin, name)))
        lines.append(f"fitted widemargin.{name}: {attributes}")
    return "\n".join(lines) + "\n"


def of_module(module: ModuleType) -> list[str]:
    """The public names of a module, each with its signature, and classes with their methods and properties."""
    lines = []
    for name in sorted(set(getattr(module, "__all__", ())) - {"__version__"}):
        value = getattr(module, name)
        title = f"{module.__name__}.{name}"
        if isinstance(value, type) and issubclass(value, enum.Enum):
            lines += [f"{title}.{member}" for member in value.__members__]
        elif isinstance(value, type) and not issubclass(value, Exception):
            lines += [f"{title}{signature(value)}", *of_class(value, title)]
        else:
            lines.append(f"{title}{signature(value)}" if inspect.isfunction(value) else title)
    return lines


def of_class(owner: type, title: str) -> list[str]:
    """Methods and properties, without those of scikit-learn, of public base classes, and defaults of parameters."""
    lines = []
    parameters = inspect.signature(owner).parameters
    for name in sorted(set(dir(owner)) - set(parameters)):
        home = next((base for base in owner.__mro__ if name in vars(base)), owner)
        inherited = home is not owner and home.__name__ in PUBLIC_BASES or not home.__module__.startswith("widemargin")
        if inherited or name.startswith("_") or name.endswith("_request"):
            continue
        value = inspect.getattr_static(owner, name)
        value = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        lines.append(f"{title}.{name}{signature(value) if inspect.isfunction(value) else ''}")
    return lines


def signature(value: Any) -> str:
    """Parameters with defaults, without types; addresses and default objects by their class."""
    found = inspect.signature(value)
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in found.parameters.values()]
    text = str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    return re.sub(r"<(?:function |class ')?([\w.]+).*?>", r"<\1>", text)


def fitted_attributes(estimator: type) -> list[str]:
    """Attributes with a trailing underscore of a fitted estimator."""
    X = np.array([[-2.0, -1.0], [-1.0, -1.0], [-1.0, -2.0], [1.0, 1.0], [1.0, 2.0], [2.0, 1.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = estimator().fit(X, np.array([0, 0, 0, 1, 1, 1]))
        names = [name for name in dir(model) if name.endswith("_") and not name.startswith("_")]
        return [name for name in names if hasattr(model, name)]


if __name__ == "__main__":
    FILE.write_text(describe(), encoding="utf-8")
    print(f"wrote {FILE}: look at the difference, and say in CHANGELOG.md what changes for users")
