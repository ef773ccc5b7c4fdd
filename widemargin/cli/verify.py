"""`widemargin verify`: the certificate of a saved machine, computed afresh from its training data."""

from __future__ import annotations

import argparse

from rich.console import Console

import widemargin
from widemargin.cli.report import certificate_table
from widemargin.cli.samples import labels_as_written, read_samples
from widemargin.io.errors import FileError
from widemargin.io.model_file import load


def verify(options: argparse.Namespace) -> bool:
    """Show the certificate; True if it holds."""
    model = load(options.model)
    precomputed = model.kernel == "precomputed"
    X, y = read_samples(options.data, precomputed=precomputed, n_features=None if precomputed else model.n_features_in_)
    if X.shape[0] != model.shape_fit_[0]:
        raise FileError(
            f"{options.model} was trained on {model.shape_fit_[0]:,} samples, but {options.data} has {X.shape[0]:,}: "
            "give the file it was trained on."
        )
    certificate = widemargin.verify(model, X, labels_as_written(y) if hasattr(model, "classes_") else y)
    Console(quiet=options.quiet, highlight=False).print(certificate_table(certificate))
    return bool(certificate.holds)
