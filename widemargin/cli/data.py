"""Data of the commands: any format, converted for the estimators, with the preparation that a model must store.

A model stores in `preparation_` how its training file became features: which index a LIBSVM file counts from, or the
columns of a table. New data is read in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector

from widemargin.cli.options import ARRAYS, FORMATS, STRING_KERNELS, STRINGS, TABLES
from widemargin.cli.screen import Screen, plural
from widemargin.inspection.pipelines import unwrap
from widemargin.io.arrays import read_arrays
from widemargin.io.libsvm_text import matrix_from_text
from widemargin.io.preparation import Preparation
from widemargin.io.raw_bytes import Report, read_bytes, shown_name, without_compression
from widemargin.io.sequences import read_fasta, read_strings
from widemargin.io.tables import is_empty, read_table
from widemargin.monitor.printable import printable
from widemargin.storage.errors import FileError


@dataclass
class Data:
    """Samples X, targets y (None where the file has none), and how the file became X."""

    X: Any
    y: Any
    preparation: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.X) if isinstance(self.X, list) else self.X.shape[0]


def read_training(options: SimpleNamespace, screen: Screen) -> Data:
    """Return training data, read according to the options."""
    path = options.data
    between_strings = options.kernel in STRING_KERNELS
    kind = format_of(path, options.format, "strings" if between_strings else "libsvm")
    if (kind in STRINGS) != between_strings:
        raise FileError(
            f"{path} is read as {kind}, but the kernel is {options.kernel}: strings need one of "
            f"{', '.join(STRING_KERNELS)}, and those need strings (--format fasta or strings)."
        )
    given = (options.categorical, options.drop, options.impute, options.drop_missing, options.scale != "none")
    if kind not in TABLES and any(given):
        advice = "use `widemargin scale` before" if options.scale != "none" else "leave them out"
        raise FileError(
            "--categorical, --drop, --impute, --drop-missing and --scale are for tables (CSV, TSV, Parquet, Arrow): "
            f"{advice}."
        )
    data = _read(kind, options, screen)
    for note in data.notes:
        screen.note(note)
    return data


def read_like(model: Any, options: SimpleNamespace, screen: Screen, *, every_row: bool = False) -> Data:
    """Return data for a trained model, with features in the columns that it expects.

    every_row : whether rows with empty cells are kept, which only `--impute` can, even if training left them out.
    """
    path = options.data
    learned = getattr(model, "preparation_", None) or {}
    trained_on = "csv" if learned.get("format") == "table" else learned.get("format", "libsvm")
    kind = format_of(path, options.format, trained_on)
    if family(kind) != family(trained_on):
        raise FileError(
            f"{path} is read as {kind}, a kind of {family(kind)}, but the model was trained on "
            f"{'a ' * (family(trained_on) != 'strings')}{family(trained_on)}: give data of the same kind, or say its "
            "--format."
        )
    return _read(kind, options, screen, model, every_row)


def described(data: Data, y: Any, classifies: bool) -> str:
    """Return a short description of the data."""
    if isinstance(data.X, list):
        words = f"{plural(len(data), 'string')} of {min(map(len, data.X)):,} to {max(map(len, data.X)):,} letters"
    else:
        words = f"{plural(len(data), 'sample')}, {plural(data.X.shape[1], 'feature')}"
    if classifies:
        values, counts = np.unique(y, return_counts=True)
        shown = ", ".join(f"{printable(str(value))}: {count:,}" for value, count in zip(values[:6], counts))
        words += f", {plural(len(values), 'class', 'classes')} ({shown}{', ...' if len(values) > 6 else ''})"
    return words


def format_of(path: str, given: str | None = None, otherwise: str = "libsvm") -> str:
    """Format of a file: as given, by its extension, or `otherwise`.

    Examples
    --------
    >>> format_of("people.csv.gz"), format_of("a9a.t"), format_of("-"), format_of("-", "csv")
    ('csv', 'libsvm', 'libsvm', 'csv')
    """
    ending = without_compression(path).suffix.lower()
    return given or next((kind for kind, endings in FORMATS.items() if ending in endings), otherwise)


def family(kind: str) -> str:
    """Return the kind of data of a format: a table with named columns, strings, or a matrix of numbers."""
    return "table" if kind in TABLES else "strings" if kind in STRINGS else "matrix"


def targets_for(model: Any, data: Data, path: str) -> Any:
    """Return targets as the model needs them: class labels as written, or numbers; None for a one-class SVM."""
    if is_outlier_detector(model):
        return None
    if data.y is None:
        raise FileError(f"{path} has no labels: say which column they are with --target.")
    if is_classifier(model):
        return labels_as_written(data.y)
    if data.y.dtype.kind not in "fiub":
        raise FileError(
            f"{path} has texts such as {str(data.y[0])!r} as targets, but {type(model).__name__} needs numbers."
        )
    return data.y.astype(np.float64)


def labels_as_written(y: Any) -> Any:
    """Class labels as whole numbers where they all are, so that they are written as they were read: 1 and not 1.0."""
    if y.dtype.kind != "f" or not np.isfinite(y).all() or np.abs(y).max(initial=0.0) >= 2**63:
        return y
    whole = y.astype(np.int64)
    return whole if np.array_equal(whole, y) else y


def _read(kind: str, options: SimpleNamespace, screen: Screen, model: Any = None, every_row: bool = False) -> Data:
    """A file of some kind, to learn from or for a model."""
    path = options.data
    learned = getattr(model, "preparation_", None) or {}
    with screen.progress(f"reading {path}", 1.0) as steps:
        if kind in TABLES:
            return _read_table(kind, options, learned, every_row, steps.reach)
        if kind in STRINGS:
            strings, labels = (read_fasta if kind == "fasta" else read_strings)(path, steps.reach)
            return Data(strings, labels, {"format": kind})
        n_features = None if model is None else int(model.n_features_in_)
        if kind in ARRAYS:
            known = learned.get("target") if learned.get("format") == kind else None
            target = options.target if model is None else known
            X, y = read_arrays(path, kind, target=target, n_features=n_features, report=steps.reach)
            return Data(X, y, {"format": kind, "target": target})
        kernel = options.kernel if model is None else getattr(unwrap(model)[0], "kernel", None)  # linear ones have none
        precomputed = isinstance(kernel, str) and kernel == "precomputed"
        if precomputed and model is not None and not hasattr(model, "certificate_"):
            return _read_kernel_rows(options.data, model, steps.reach)
        return _read_libsvm(options, precomputed, n_features, learned.get("zero_based"), steps.reach)


def _read_table(kind: str, options: SimpleNamespace, learned: dict[str, Any], every_row: bool, report: Report) -> Data:
    """Return a table, prepared like that of the model, or according to the options for training."""
    header = learned.get("header", True) and not options.no_header
    if learned:
        preparation = Preparation.from_plain(learned)
        texts = [column.name for column in preparation.columns if column.kind == "category"]
        used = [column.name for column in preparation.columns] + [str(preparation.target)]
        table = read_table(options.data, kind, header=header, texts=texts, used=used, report=report)
    else:
        texts, ignored = [*options.categorical, *options.drop], options.drop
        table = read_table(options.data, kind, header=header, texts=texts, ignored=ignored, report=report)
        if options.target is None and options.machine != "oneclass":
            raise FileError(
                f"{table.name} is a table: say which column is to be predicted, --target COLUMN; its columns are "
                f"{table.listed()}."
            )
        wanted = (options.target, options.scale, options.categorical, options.drop, options.impute)
        preparation = Preparation.fit(table, *wanted, options.drop_missing)
    n_rows = len(table)
    if not every_row:
        table = preparation.complete(table)
    X, notes = preparation.matrix(table)
    notes = notes if learned else []  # they are about differences from the training table
    n_filled = preparation.count_filled(table)
    if n_filled:
        notes.append(f"{table.name}: {plural(n_filled, 'empty cell')} filled in.")
    if len(table) < n_rows:
        notes.append(f"{table.name}: {n_rows - len(table):,} of {plural(n_rows, 'row')} left out, with empty cells.")
    target = table.columns.get(str(preparation.target))
    n_unknown = int(is_empty(target).sum()) if every_row and target is not None else 0
    if n_unknown:  # answers need no targets
        notes.append(f"{table.name}: {plural(n_unknown, 'row')} without a target; the answers are not compared.")
    y = None if n_unknown else preparation.targets(table)
    return Data(X, y, {**preparation.as_plain(), "header": header}, notes)


def _read_libsvm(
    options: SimpleNamespace, precomputed: bool, n_trained: int | None, zero_based: bool | None, report: Report
) -> Data:
    """Return LIBSVM text; features beyond the `n_trained` of a model are ignored, with a note."""
    name = shown_name(options.data)
    data = read_bytes(options.data, report)
    if precomputed:
        X, y, _ = matrix_from_text(data, name, zero_based=True)
        return Data(_kernel_matrix(X, name, n_trained), y, {"format": "libsvm"})
    n_features = options.features if n_trained is None else None
    X, y, zero_based = matrix_from_text(data, name, n_features, zero_based=zero_based)
    notes = []
    if n_trained is not None:
        if X.shape[1] > n_trained:
            notes = [
                f"{name} has {X.shape[1]:,} features, the model was trained on {n_trained:,}: those beyond are ignored."
            ]
        X.resize(len(y), n_trained)
    return Data(X, y, {"format": "libsvm", "zero_based": zero_based}, notes)


def _read_kernel_rows(path: str, model: Any, report: Report) -> Data:
    """Rows of a precomputed kernel for a model of LIBSVM, whose file does not say how many training samples there were.

    Its largest support vector is a lower bound; the rows tell the number, and the model takes it.
    """
    X, y, _ = matrix_from_text(read_bytes(path, report), shown_name(path), zero_based=True)
    n_trained = max(int(model.n_features_in_), X.shape[1] - 1)
    model.n_features_in_, model.shape_fit_ = n_trained, (n_trained, n_trained)
    model._rebuild()
    return Data(_kernel_matrix(X, shown_name(path), n_trained), y, {"format": "libsvm"})


def _kernel_matrix(X: Any, name: str, n_trained: int | None) -> Any:
    """A kernel matrix in LIBSVM's notation: 0:number of the row, then a value for each training sample."""
    numbers = X[:, [0]].toarray().ravel() if X.shape[1] else np.zeros(X.shape[0])
    if n_trained is None and not np.array_equal(numbers, np.arange(1, X.shape[0] + 1)):
        raise FileError(
            f"{name} is not a precomputed kernel: expected lines 'label 0:number 1:value 2:value ...' with numbers "
            "1, 2, 3, ... after 0:."
        )
    width = X.shape[0] if n_trained is None else n_trained
    if X.shape[1] - 1 > width:
        raise FileError(
            f"{name} has {X.shape[1] - 1} kernel values per line, expected {width}: one per training sample."
        )
    X.resize(X.shape[0], width + 1)  # zeros at the end of a line may have been left out
    return X[:, 1:].toarray()
