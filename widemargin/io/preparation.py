"""From a table to the matrix a model learns from: texts to 0/1 columns, numbers scaled on request.

What was found in the training table (names, categories, ranges) is a `Preparation`. It is kept in the model file as
plain data, so that new tables become the same features in the same places.

    number     (x - shift) / unit, one feature; standard: mean and standard deviation; minmax: to [0, 1]
    category   one 0/1 feature per category, in alphabetical order; an unknown one is all zeros
    empty      on request the median of the numbers, the most frequent category; else an error
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack

from widemargin.io.libsvm_text import shortest
from widemargin.io.tables import Table, is_empty
from widemargin.storage.errors import FileError

DENSE_FROM = 0.25  # share of features that are not zero from which on the matrix is dense
#: What to do about an empty cell: while a preparation is learned, and where one is used that fills none.
IN_TRAINING = "fill it in, or train with --impute (fills it) or --drop-missing (no such rows)"
IN_USE = "fill it in, or leave the row out; a model that was trained with --impute fills it in"
MOST_CATEGORIES = 10_000  # categories of one column; a column with more identifies rows and is not a category


@dataclass(frozen=True)
class Column:
    """The conversion of one column to features."""

    name: str
    kind: str = "number"
    shift: float = 0.0
    unit: float = 1.0
    categories: list[str] = field(default_factory=list)
    filling: float | str | None = None  # of empty cells; None: there may be none

    def filled(self, cells: NDArray) -> NDArray:
        """The cells, with the empty ones filled in where that was asked for."""
        if self.filling is None:
            return cells
        return np.where(is_empty(cells), self.filling if cells.dtype == object else float(self.filling), cells)


@dataclass(frozen=True)
class Preparation:
    """The conversion of a table to a matrix and targets.

    Examples
    --------
    >>> table = Table("people", {"age": np.array([20.0, 40.0]), "town": np.array(["Oslo", "Rome"], object)})
    >>> preparation = Preparation.fit(table, target=None, scaling="minmax")
    >>> preparation.matrix(table)[0].tolist(), preparation.feature_names
    ([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]], ['age', 'town=Oslo', 'town=Rome'])
    """

    target: str | None
    columns: list[Column]
    drop_missing: bool = False
    scaling: str | None = None  # None: not known, as in files of models from before it was recorded
    categorical: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)

    @classmethod
    def fit(
        cls,
        table: Table,
        target: str | None,
        scaling: str = "none",
        categorical: Collection[str] = (),
        drop: Collection[str] = (),
        impute: bool = False,
        drop_missing: bool = False,
    ) -> Preparation:
        """Learn from the training table.

        target : name or place of the column to predict; None if there is none.
        categorical : columns of numbers that are names of something. drop : columns to leave out.
        impute : whether empty cells are filled in, here and in later tables.
        drop_missing : whether rows with other empty cells are left out, here and in later tables.
        """
        target = None if target is None else table.resolve(target)
        as_names = {table.resolve(name) for name in categorical}
        dropped = [table.resolve(name) for name in drop]
        left_out = {*dropped, target}
        used = [name for name in table.columns if name not in left_out]
        if drop_missing:
            table = table.complete(([] if target is None else [target]) + ([] if impute else used))
        columns = []
        for name in used:
            cells = table.columns[name]
            if cells.dtype != object and name not in as_names:
                columns.append(_number_column(name, cells, scaling, impute, table))
            else:
                columns.append(_category_column(name, cells, impute, table))
        if not columns:
            raise FileError(f"{table.name} has no columns beside the target: there is nothing to learn from.")
        return cls(target, columns, drop_missing, scaling, sorted(as_names), dropped)

    def complete(self, table: Table) -> Table:
        """The table without the rows that training leaves out."""
        needed = [self.target, *(column.name for column in self.columns if column.filling is None)]
        return table.complete(name for name in needed if name in table.columns) if self.drop_missing else table

    def count_filled(self, table: Table) -> int:
        """How many empty cells of a table are filled in."""
        filled = [column.name for column in self.columns if column.filling is not None]
        return int(sum(is_empty(table.columns[name]).sum() for name in filled))

    @property
    def imputes(self) -> bool:
        """Whether empty cells are filled in."""
        return any(column.filling is not None for column in self.columns)

    @property
    def scaled(self) -> set[str]:
        """Names of the columns whose features are not in the units of the file."""
        return {column.name for column in self.columns if (column.shift, column.unit) != (0.0, 1.0)}

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, in their order."""
        names: list[str] = []
        for column in self.columns:
            named = [f"{column.name}={category}" for category in column.categories]
            names += [column.name] if column.kind == "number" else named
        return names

    def matrix(self, table: Table) -> tuple[Any, list[str]]:
        """The features of a table, dense or CSR, and notes about what was left out."""
        missing = [column.name for column in self.columns if column.name not in table.columns]
        if missing:
            raise FileError(
                f"{table.name} has no column {missing[0]!r}, which the model was trained on: expected the columns "
                f"{', '.join(column.name for column in self.columns)}."
            )
        notes = []
        used = {self.target, *(column.name for column in self.columns)}
        extra = [name for name in table.columns if name not in used]
        if extra:
            notes.append(f"{table.name} has columns the model does not use, ignored: {', '.join(extra[:10])}.")
        blocks, numbers = [], []  # `numbers`: columns of numbers since the last block
        for column in self.columns:
            cells = column.filled(table.columns[column.name])
            if column.kind == "number":
                numbers.append((_numbers(cells, column.name, table, IN_USE) - column.shift) / column.unit)
                continue
            if numbers:
                blocks.append(csr_matrix(np.column_stack(numbers)))
                numbers = []
            words = np.array(_words(cells, column.name, table, IN_USE), object)
            from sklearn.preprocessing import OneHotEncoder  # imported here, because it is slow to import

            encoder = OneHotEncoder(categories=[column.categories], handle_unknown="ignore")
            blocks.append(encoder.fit_transform(words[:, None]))
            is_known = np.isin(words, column.categories)
            if not is_known.all():
                notes.append(
                    f"{table.name}, column {column.name!r}: categories the training data did not have, such as "
                    f"{words[np.argmin(is_known)]!r}, count as none."
                )
        if numbers and not blocks:
            return np.column_stack(numbers), notes
        if numbers:
            blocks.append(csr_matrix(np.column_stack(numbers)))
        matrix = csr_matrix(hstack(blocks))
        return matrix.toarray() if len(self.columns) >= DENSE_FROM * matrix.shape[1] else matrix, notes

    def targets(self, table: Table) -> NDArray | None:
        """The column to predict, if the table has it: numbers, or texts."""
        if self.target is None or self.target not in table.columns:
            return None
        cells = table.columns[self.target]
        if is_empty(cells).any():
            where = table.place(int(np.argmax(is_empty(cells))))
            raise FileError(
                f"{table.name}, {where}: no target in column {self.target!r}: fill it in, leave the row out, or train "
                "with --drop-missing."
            )
        return cells.astype(np.str_) if cells.dtype == object else cells

    def as_plain(self) -> dict[str, Any]:
        """Plain data for a model file."""
        return {"format": "table", **asdict(self)}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Preparation:
        """The preparation of a model file."""
        columns = [Column(**column) for column in plain["columns"]]
        more = {name: plain[name] for name in ("drop_missing", "scaling", "categorical", "dropped") if name in plain}
        return cls(plain["target"], columns, **more)


def names_of_fit(model: Any) -> list[str] | None:
    """Names of the features a model was trained on, from a data frame or a table in a file; None if it has none."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return [str(name) for name in names]
    preparation = of_table(model)
    return None if preparation is None else preparation.feature_names


def of_table(model: Any) -> Preparation | None:
    """The preparation of a model that was trained on a table in a file; None for others."""
    plain = getattr(model, "preparation_", None) or {}
    return Preparation.from_plain(plain) if plain.get("format") == "table" else None


def _number_column(name: str, cells: NDArray, scaling: str, impute: bool, table: Table) -> Column:
    """Shift and unit of a column of numbers; a constant column keeps its unit."""
    column = Column(name, filling=float(np.median(_known(cells, name, table))) if impute else None)
    numbers = _numbers(column.filled(cells), name, table)
    if scaling == "none":
        return column
    low, spread = (numbers.mean(), numbers.std()) if scaling == "standard" else (numbers.min(), np.ptp(numbers))
    return replace(column, shift=float(low), unit=float(spread) if spread > 0 else 1.0)


def _category_column(name: str, cells: NDArray, impute: bool, table: Table) -> Column:
    """The categories of a column."""
    words = Counter(_words(_known(cells, name, table) if impute else cells, name, table))
    categories = sorted(words)
    if len(categories) > MOST_CATEGORIES:
        raise FileError(
            f"{table.name}, column {name!r} has {len(categories):,} different texts, more than {MOST_CATEGORIES:,}: it "
            f"looks like a name of each row; leave it out with --drop {name!r}."
        )
    filling = words.most_common(1)[0][0] if impute else None
    return Column(name, kind="category", categories=categories, filling=filling)


def _known(cells: NDArray, name: str, table: Table) -> NDArray:
    """The cells that are not empty."""
    known = cells[~is_empty(cells)]
    if not len(known):
        raise FileError(f"{table.name}, column {name!r} is empty throughout: leave it out with --drop {name!r}.")
    return known


def _numbers(cells: NDArray, name: str, table: Table, advice: str = IN_TRAINING) -> NDArray[np.float64]:
    """A column that must be finite numbers."""
    if cells.dtype == object:
        raise FileError(
            f"{table.name}, column {name!r} holds texts such as {cells[0]!r}, but the model was trained on numbers."
        )
    _check_filled(cells, name, table, "number", advice)
    return cells


def _words(cells: NDArray, name: str, table: Table, advice: str = IN_TRAINING) -> list[str]:
    """A column as texts; whole numbers without a point."""
    if cells.dtype != object:
        return [shortest(number) for number in _numbers(cells, name, table, advice).tolist()]
    _check_filled(cells, name, table, "text", advice)
    return cells.tolist()


def _check_filled(cells: NDArray, name: str, table: Table, expected: str, advice: str) -> None:
    """FileError for the first cell that is empty, with this advice, or infinite."""
    empty = is_empty(cells)
    usable = ~empty if cells.dtype == object else np.isfinite(cells)
    if not usable.all():
        row = int(np.argmin(usable))
        what = "is empty" if empty[row] else "is infinite"
        advice = advice if empty[row] else "correct it, or leave the row out"
        raise FileError(f"{table.name}, {table.place(row)}, column {name!r} {what}, expected a {expected}: {advice}.")
