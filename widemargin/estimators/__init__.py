"""Estimators with scikit-learn's interface: validate, build, train, expose. Each is imported when first used."""

from __future__ import annotations

from widemargin import _lazy
from widemargin.estimators.registry import ESTIMATORS

__getattr__ = _lazy.names_of(__name__, {name: entry.module for name, entry in ESTIMATORS.items()})
