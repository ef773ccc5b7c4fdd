"""Estimators with scikit-learn's interface: validate, build, train, expose. Each is imported when first used."""

from __future__ import annotations

from typing import Any

from widemargin import _lazy
from widemargin.estimators.registry import ESTIMATORS


def __getattr__(name: str) -> Any:
    """Import and return the estimator with this name."""
    if name in ESTIMATORS:
        return getattr(_lazy.load(f"widemargin.{ESTIMATORS[name].path}"), name)
    raise AttributeError(f"module 'widemargin.estimators' has no attribute {name!r}")
