"""`widemargin predict`: one answer per line, and how well the answers agree with the labels in the file."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from sklearn.base import is_classifier

from widemargin.cli.samples import labels_as_written, read_samples
from widemargin.io.errors import FileError
from widemargin.io.model_file import load


def predict(options: argparse.Namespace) -> None:
    """Predict, write the answers, and say how many are right."""
    console = Console(stderr=True, quiet=options.quiet, highlight=False)
    model = load(options.model)
    n_features = int(model.n_features_in_)
    precomputed = model.kernel == "precomputed"
    X, y = read_samples(options.data, precomputed=precomputed, n_features=n_features, ignore_more=True)
    answers = model.predict(X)
    text = "".join(f"{answer:.17g}\n" if answer.dtype.kind == "f" else f"{answer}\n" for answer in answers)
    if options.output is None or options.output == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        try:
            with open(options.output, "w", encoding="utf-8") as out:
                out.write(text)
        except OSError as error:
            raise FileError(f"{options.output} cannot be written: {error.strerror or error}.") from None
    console.print(agreement(model, answers, y))


def agreement(model: Any, answers: NDArray, y: NDArray[np.float64]) -> str:
    """How well the answers agree with the labels: the share that is right, or a regression's error."""
    if is_classifier(model) or hasattr(model, "offset_"):
        right = int(np.sum(answers == labels_as_written(y)))
        return f"accuracy {right / len(y):.4%} ({right:,} of {len(y):,})"
    error = float(np.mean((answers - y) ** 2))
    varies = np.ptp(answers) > 0 and np.ptp(y) > 0
    correlation = float(np.corrcoef(answers, y)[0, 1] ** 2) if varies else float("nan")
    return f"mean squared error {error:.6g}, squared correlation {correlation:.6g}"
