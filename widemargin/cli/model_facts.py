"""What a model file says about its model, without data: for `widemargin info MODEL`."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from widemargin.certificate import Certificate
from widemargin.cli.models import kind_of_model, open_model
from widemargin.cli.screen import certificate_facts
from widemargin.inspection.pipelines import unwrap
from widemargin.io.preparation import names_of_fit, of_table
from widemargin.monitor.status import Status
from widemargin.report.reproduction import described
from widemargin.storage.archive import read_archive

NOT_IN_LIBSVM = ("C", "nu", "epsilon", "tol", "class_weight")  # parameters that LIBSVM's files leave out
MAIN = ("C", "nu", "epsilon", "kernel", "gamma", "tol")  # parameters told even if they are defaults
MOST_NAMES = 12  # classes or features that a line lists


def model_facts(path: str) -> tuple[dict[str, Any], Any]:
    """Return facts about a model in a file of ours or of LIBSVM, in the types of JSON, and its certificate or None.

    The certificate is as the file states it: only `widemargin verify` with the training data computes one.
    """
    model = open_model(path)
    machine, before = unwrap(model)
    is_libsvm = kind_of_model(path) == "libsvm"
    header = {} if is_libsvm else read_archive(path)[0]
    table = of_table(machine)
    given, defaults = machine.get_params(deep=False), type(machine)().get_params(deep=False)
    told = {
        name: _simple(value) for name, value in given.items() if name in MAIN or repr(value) != repr(defaults[name])
    }
    certificate = getattr(machine, "certificate_", None)
    n_samples = getattr(machine, "shape_fit_", (None,))[0]
    facts = {
        "file": "LIBSVM model" if is_libsvm else header["format"],
        "format_version": header.get("format_version"),
        "written_by": header.get("package_version"),
        "machine": type(machine).__name__,
        "steps": [type(step).__name__ for _, step in before.steps] if before is not None else [],
        "kernel": _kernel(machine),
        "parameters": {name: value for name, value in told.items() if not (is_libsvm and name in NOT_IN_LIBSVM)},
        "classes": getattr(machine, "classes_", None),
        "n_features": getattr(model, "n_features_in_", None),
        "features": names_of_fit(model),
        "target": None if table is None else table.target,
        "preparation": described(machine),
        "n_samples": None if is_libsvm else n_samples,
        "n_support": int(np.sum(machine.n_support_)) if hasattr(machine, "n_support_") else None,
        "certificate": None if certificate is None else _certificate_facts(certificate),
    }
    return facts, certificate


def lines_of(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return names and values for people; the certificate is shown apart."""
    written = f", format {facts['format_version']}, written by widemargin {facts['written_by']}"
    classes, features, n_features = facts["classes"], facts["features"], facts["n_features"]
    lines = [
        ("file", facts["file"] + (written if facts["written_by"] else "")),
        ("model", " -> ".join([*facts["steps"], facts["machine"]])),
        ("kernel", facts["kernel"]),
        ("parameters", ", ".join(f"{name}={value}" for name, value in facts["parameters"].items())),
        ("classes", None if classes is None else f"{len(classes)}: {_some(classes)}"),
        ("features", None if n_features is None else f"{n_features:,}" + (f": {_some(features)}" if features else "")),
        ("data", facts["preparation"]),
        ("training samples", None if facts["n_samples"] is None else f"{facts['n_samples']:,}"),
        ("support vectors", None if facts["n_support"] is None else f"{facts['n_support']:,}"),
    ]
    return [(name, value) for name, value in lines if value]


def _kernel(machine: Any) -> str | None:
    """The kernel with the values of its parameters; None for linear models, which have none."""
    kernel = getattr(getattr(machine, "_expansion", None), "kernel", None)
    return str(getattr(machine, "kernel", None) or "") or None if kernel is None else repr(kernel)


def _simple(value: Any) -> Any:
    """A parameter in a type of JSON."""
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def _some(names: Any) -> str:
    """The first names of a list."""
    return ", ".join(map(str, names[:MOST_NAMES])) + (", ..." if len(names) > MOST_NAMES else "")


def _certificate_facts(certificate: Any) -> dict[str, Any]:
    """Return a certificate as a dict for JSON, whichever kind it is."""
    if isinstance(certificate, Certificate):
        return certificate_facts(certificate)
    values = {one.name: getattr(certificate, one.name) for one in fields(certificate)}
    words = {name: value.name if isinstance(value, Status) else value for name, value in values.items()}
    return {"holds": certificate.holds} | {n: v for n, v in words.items() if isinstance(v, bool | int | float | str)}
