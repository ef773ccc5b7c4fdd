"""`widemargin train`: read, fit under a progress bar, certify, save."""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.exceptions import ConvergenceWarning

from widemargin.cli.machines import is_classifier, make_machine
from widemargin.cli.report import certificate_table, plural
from widemargin.cli.samples import labels_as_written, read_samples
from widemargin.io.archive import check_writable
from widemargin.io.libsvm_text import OPENERS
from widemargin.io.model_file import save


def train(options: argparse.Namespace) -> bool:
    """Train and save; True if the certificate holds."""
    console = Console(stderr=True, quiet=options.quiet, highlight=False)
    output = options.output or default_output(options.data)
    check_writable(output)  # a long fit must not end with the news that its answer has nowhere to go
    X, y = read_samples(options.data, precomputed=options.kernel == "precomputed", n_features=options.features)
    model = make_machine(options, verbose=not options.quiet)
    if is_classifier(options.machine):
        y = labels_as_written(y)
    console.print(f"{_name(options.data)}: {_described(X, y, options.machine)}")
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X) if options.machine == "oneclass" else model.fit(X, y)
    seconds = time.perf_counter() - began
    save(model, output)
    certificate = model.certificate_
    console.print(certificate_table(certificate))
    for warning in caught:
        if not issubclass(warning.category, ConvergenceWarning):  # its sentence is the status in the certificate
            console.print(f"{warning.message}", style="yellow", markup=False)
    console.print(f"trained in {seconds:.2f} s, saved as [bold]{output}[/]")
    return bool(certificate.holds)


def default_output(data: str) -> str:
    """Where the model goes if nothing is said: the data's name, unpacked, in the current folder, as LIBSVM does.

    Examples
    --------
    >>> default_output("sets/a9a.xz"), default_output("-")
    ('a9a.model', 'widemargin.model')
    """
    if data == "-":
        return "widemargin.model"
    name = Path(data)
    return (name.stem if name.suffix.lower() in OPENERS else name.name) + ".model"


def _name(data: str) -> str:
    return "standard input" if data == "-" else os.path.basename(data)


def _described(X: Any, y: np.ndarray, machine: str) -> str:
    """The data in a few words."""
    words = f"{X.shape[0]:,} samples, {plural(X.shape[1], 'feature')}"
    if is_classifier(machine):
        values, counts = np.unique(y, return_counts=True)
        shown = ", ".join(f"{value}: {count:,}" for value, count in zip(values[:6], counts))
        words += f", {plural(len(values), 'class', 'classes')} ({shown}{', ...' if len(values) > 6 else ''})"
    return words
