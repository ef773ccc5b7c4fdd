"""Data of the commands: any format, as the estimators want it, with what a model must remember about its making.

A model keeps in `preparation_` how its training file became features: which index a LIBSVM file counts from, or the
columns of a table. New data is read in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import click

from widemargin.cli.command import option
from widemargin.cli.formats import FORMATS, STRINGS, TABLES, family, format_of
from widemargin.cli.machines import STRING_KERNELS
from widemargin.cli.parameters import Whole
from widemargin.cli.screen import Screen

_HEADING = "The data"
REPORT_SHARE = 0.01  # of a file between two reports of progress

FORMAT_OPTION = option("-f", "--format", type=click.Choice(FORMATS), heading=_HEADING,
                       help="Format of the data.  [by the ending; libsvm]")  # fmt: skip
HEADER_OPTION = option("--no-header", is_flag=True, heading=_HEADING,
                       help="CSV, TSV: the first line is data; columns are called 1, 2, ...")  # fmt: skip
OPTIONS = (
    FORMAT_OPTION,
    option("--target", metavar="COLUMN", heading=_HEADING,
           help="Column to predict in tables and .npy: a name, or a place, -1 the last. Array of an .npz file.  [y]"),
    HEADER_OPTION,
    option("--categorical", metavar="COLUMN", multiple=True, heading=_HEADING,
           help="Column of numbers that are names of something; repeat for more."),
    option("--drop", metavar="COLUMN", multiple=True, heading=_HEADING, help="Column to leave out; repeat for more."),
    option("--scale", type=click.Choice(["none", "standard", "minmax"]), default="none", heading=_HEADING,
           help="Bring the numbers of a table to mean 0 and deviation 1, or to [0, 1].  [none]"),
    option("--features", type=Whole(1), metavar="N", heading=_HEADING,
           help="Number of features of LIBSVM text.  [the largest index]"),
)  # fmt: skip


@dataclass
class Data:
    """Samples X, targets y (None where the file has none), and how the file became X."""

    X: Any
    y: Any
    preparation: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.X) if isinstance(self.X, list) else self.X.shape[0]


def data_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say how a training file is to be read."""
    for add in reversed(OPTIONS):
        function = add(function)
    return function


def read_training(path: str, options: SimpleNamespace, screen: Screen, *, precomputed: bool = False) -> Data:
    """Data to learn from, as the options say."""
    from widemargin.storage.errors import FileError

    between_strings = options.kernel in STRING_KERNELS
    kind = format_of(path, options.format, "strings" if between_strings else "libsvm")
    if (kind in STRINGS) != between_strings:
        raise FileError(
            f"{path} is read as {kind}, but the kernel is {options.kernel}: strings need one of "
            f"{', '.join(STRING_KERNELS)}, and those need strings (--format fasta or strings)."
        )
    if kind not in TABLES and (options.categorical or options.drop or options.scale != "none"):
        advice = "use `widemargin scale` before" if options.scale != "none" else "leave them out"
        raise FileError(f"--categorical, --drop and --scale are for tables (CSV, TSV, Parquet, Arrow): {advice}.")
    with _reading(path, screen) as report:
        if kind in TABLES:
            return _training_table(path, kind, options, report)
        if kind in ("npz", "npy"):
            from widemargin.io.arrays import read_arrays

            X, y = read_arrays(path, kind, target=options.target, report=report)
            return Data(X, y, {"format": kind, "target": options.target})
        if kind in STRINGS:
            return _read_strings(path, kind, report)
        return _read_libsvm(path, report, precomputed=precomputed, n_features=options.features)


def read_like(path: str, model: Any, options: SimpleNamespace, screen: Screen) -> Data:
    """Data for a model that was trained before: features in the places where it expects them."""
    from widemargin.storage.errors import FileError

    preparation = getattr(model, "preparation_", None) or {}
    trained_on = "csv" if preparation.get("format") == "table" else preparation.get("format", "libsvm")
    kind = format_of(path, options.format, trained_on)
    if family(kind) != family(trained_on):
        raise FileError(
            f"{path} is read as {kind}, a kind of {family(kind)}, but the model was trained on "
            f"{'a ' * (family(trained_on) != 'strings')}{family(trained_on)}: give data of the same kind, or say its "
            "--format."
        )
    with _reading(path, screen) as report:
        if kind in TABLES:
            return _table_like(path, kind, preparation, options, report)
        if kind in ("npz", "npy"):
            from widemargin.io.arrays import read_arrays

            target = preparation.get("target") if trained_on == kind else None
            X, y = read_arrays(path, kind, target=target, n_features=int(model.n_features_in_), report=report)
            return Data(X, y, preparation)
        if kind in STRINGS:
            return _read_strings(path, kind, report)
        n_features = int(model.n_features_in_)
        precomputed = model.kernel == "precomputed"
        zero_based = preparation.get("zero_based")
        return _read_libsvm(
            path, report, precomputed=precomputed, n_features=n_features, zero_based=zero_based, like=True
        )


def targets_for(model: Any, data: Data, path: str) -> Any:
    """Targets as the model needs them: class labels as they are called, or numbers."""
    import numpy as np

    from widemargin.storage.errors import FileError

    if data.y is None:
        raise FileError(f"{path} has no labels: say which column they are with --target.")
    if hasattr(model, "class_weight"):
        return labels_as_written(data.y)
    if data.y.dtype.kind not in "fiub":
        raise FileError(
            f"{path} has texts such as {str(data.y[0])!r} as targets, but {type(model).__name__} needs numbers."
        )
    return data.y.astype(np.float64)


def labels_as_written(y: Any) -> Any:
    """Class labels as whole numbers where they all are, so that they are written as they were read: 1 and not 1.0."""
    import numpy as np

    if y.dtype.kind != "f":
        return y
    if not np.isfinite(y).all() or np.abs(y).max(initial=0.0) >= 2**63:
        return y
    whole = y.astype(np.int64)
    return whole if np.array_equal(whole, y) else y


def _training_table(path: str, kind: str, options: SimpleNamespace, report: Callable[[float], None]) -> Data:
    from widemargin.io.preparation import Preparation
    from widemargin.io.tables import read_table
    from widemargin.storage.errors import FileError

    texts = [*options.categorical, *options.drop]
    table = read_table(path, kind, header=not options.no_header, texts=texts, report=report)
    if options.target is None and options.machine != "oneclass":
        raise FileError(
            f"{table.name} is a table: say which column is to be predicted, --target COLUMN; its columns are "
            f"{', '.join(list(table.columns)[:20])}."
        )
    preparation = Preparation.fit(table, options.target, options.scale, options.categorical, options.drop)
    X, _ = preparation.matrix(table)
    return Data(X, preparation.targets(table), {**preparation.as_plain(), "header": not options.no_header})


def _table_like(
    path: str, kind: str, plain: dict[str, Any], options: SimpleNamespace, report: Callable[[float], None]
) -> Data:
    from widemargin.io.preparation import Preparation
    from widemargin.io.tables import read_table

    preparation = Preparation.from_plain(plain)
    texts = [column.name for column in preparation.columns if column.kind == "category"]
    header = plain.get("header", True) and not options.no_header
    table = read_table(path, kind, header=header, texts=texts, report=report)
    X, notes = preparation.matrix(table)
    return Data(X, preparation.targets(table), plain, notes)


def _read_strings(path: str, kind: str, report: Callable[[float], None]) -> Data:
    from widemargin.io.sequences import read_fasta, read_strings

    strings, labels = (read_fasta if kind == "fasta" else read_strings)(path, report)
    return Data(strings, labels, {"format": kind})


def _read_libsvm(
    path: str,
    report: Callable[[float], None],
    *,
    precomputed: bool,
    n_features: int | None,
    zero_based: bool | None = None,
    like: bool = False,
) -> Data:
    """LIBSVM text; `like` a model: features beyond its last one are ignored, and that is said."""
    from widemargin.io.libsvm_text import matrix_from_text
    from widemargin.io.raw_bytes import read_bytes, shown_name

    name = shown_name(path)
    data = read_bytes(path, report)
    if precomputed:
        X, y, _ = matrix_from_text(data, name, zero_based=True)
        return Data(_kernel_matrix(X, name, n_features if like else None), y, {"format": "libsvm"})
    if not like:
        X, y, zero_based = matrix_from_text(data, name, n_features)
        return Data(X, y, {"format": "libsvm", "zero_based": zero_based})
    X, y, counted = matrix_from_text(data, name, zero_based=zero_based)
    notes = []
    if X.shape[1] > n_features:  # type: ignore[operator]
        notes.append(
            f"{name} has {X.shape[1]:,} features, the model was trained on {n_features:,}: those beyond are ignored."
        )
    X.resize(len(y), n_features)
    return Data(X, y, {"format": "libsvm", "zero_based": counted}, notes)


def _kernel_matrix(X: Any, name: str, n_trained: int | None) -> Any:
    """A kernel matrix in LIBSVM's notation: 0:number of the row, then a value for each training sample."""
    import numpy as np

    from widemargin.storage.errors import FileError

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


class _reading:
    """Progress while a file is read."""

    def __init__(self, path: str, screen: Screen) -> None:
        self.progress = screen.progress(f"reading {path}", 1.0)

    def __enter__(self) -> Callable[[float], None]:
        steps = self.progress.__enter__()

        def report(share: float) -> None:
            if share - steps.done >= REPORT_SHARE:
                steps.reach(share)

        return report

    def __exit__(self, *exception: Any) -> None:
        self.progress.__exit__(*exception)
