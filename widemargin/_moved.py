"""Old module names as aliases of the modules that replaced them, so that older pickles load.

A pickle names the module of every class in it. `widemargin.linear.svc` is now `widemargin.estimators.linear_svc`; an
import of the old name returns the new module.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType

PREFIX = "widemargin."
MOVED = {
    "estimators.linear_svr": "estimators.linear_svc",
    "estimators.nu_svc": "estimators.svc",
    "estimators.one_class": "estimators.single_problem",
    "estimators.regressor": "estimators.single_problem",
    "expansion": "models.expansion",
    "gaussian_process": "estimators",
    "gaussian_process.covariance": "training.gaussian_process.covariance",
    "gaussian_process.posterior": "training.gaussian_process.posterior",
    "gaussian_process.regressor": "estimators.gaussian_process",
    "gaussian_process.translate": "training.gaussian_process.translate",
    "interrupt": "monitor.interrupt",
    "kernel_system": "training.kernel_system",
    "kernel_system.certificate": "certificate.system_certificate",
    "kernel_system.system": "training.kernel_system.system",
    "kernel_system.tiles": "gram.tiles",
    "least_squares": "estimators",
    "least_squares.kernel_lms": "estimators.kernel_lms",
    "least_squares.kernel_ridge": "estimators.kernel_ridge",
    "least_squares.lssvm": "estimators.lssvm",
    "linear": "estimators",
    "linear.svc": "estimators.linear_svc",
    "linear.svr": "estimators.linear_svc",
    "models.margins": "inspection.margins",
    "perceptron": "estimators",
    "perceptron.bound": "training.mistake_bound",
    "perceptron.estimator": "estimators.perceptron",
    "perceptron.history": "models.perceptron_history",
    "progress": "monitor.progress",
    "relevance": "estimators",
    "relevance.evidence": "solvers.evidence",
    "relevance.machines": "estimators.relevance",
    "trace": "training.trace",
}


class MovedModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import hook that resolves the old names; it precedes the file finder, which finds only the new names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        is_old = fullname.startswith(PREFIX) and fullname.removeprefix(PREFIX) in MOVED
        return importlib.machinery.ModuleSpec(fullname, self) if is_old else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(PREFIX + MOVED[spec.name.removeprefix(PREFIX)])
        spec.loader_state = module.__spec__  # the import system overwrites it with `spec`
        return module

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def install() -> None:
    """Register the hook, once."""
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.insert(0, MovedModules())
