"""Tables with named columns: CSV, TSV, Parquet and Arrow, read by pyarrow (extra `tables`).

A column is numbers (float64, nan for empty cells) or texts (None for empty cells). In CSV all cells are read
as text first and a column becomes numbers only if every cell is one: what a column is then does not depend on which of
its cells are near the beginning of the file. A column of numbers with a few other words in it is more likely a slip
than a list of categories, and is reported with the line and the cell.
"""

from __future__ import annotations

import csv
import difflib
import io
import itertools
import os
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.io.arrow_files import check_names, first_line, import_pyarrow, read_columns, texts_of
from widemargin.io.raw_bytes import Report, read_bytes, shown_name, without_compression
from widemargin.storage.errors import FileError

MOSTLY = 0.9  # share of numbers above which other cells of a column count as errors
SEPARATORS = ",;\t|"  # tried on the first line of a CSV file, the most frequent one is taken
MOST_NAMES = 60  # columns that a message lists; of more, the first and the last, where the target often is
EMPTY_WORDS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?")  # values of empty cells


@dataclass
class Table:
    """Named columns of equal length. `line(row)` locates a row in its file, for messages."""

    name: str
    columns: dict[str, NDArray]
    text: bytes | bytearray | None = field(default=None, repr=False)  # of a CSV file, to find lines again
    separator: str = ","
    has_header: bool = True
    rows: NDArray | None = field(default=None, repr=False)  # of the file, where some were left out

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def place(self, row: int) -> str:
        """Location of a row: its line in a text file, its number elsewhere."""
        row = row if self.rows is None else int(self.rows[row])
        if self.text is None:
            return f"row {row + 1}"
        records = csv.reader(io.StringIO(self.text.decode("utf-8", "replace"), newline=""), delimiter=self.separator)
        filled = (records.line_num for record in records if record)
        try:
            return f"line {next(itertools.islice(filled, row + self.has_header, None))}"
        except (csv.Error, StopIteration):
            return f"row {row + 1}"

    def resolve(self, column: str) -> str:
        """The name of a column given by its name or its place, 1 the first, -1 the last."""
        if column in self.columns:
            return column
        names = list(self.columns)
        place = place_of(column, len(names))
        if place is not None:
            return names[place]
        lower = {name.lower(): name for name in names}
        near = difflib.get_close_matches(column.lower(), lower, 1)
        advice = f"did you mean {lower[near[0]]!r}? Its" if near else "its"
        raise FileError(f"{self.name} has no column {column!r}: {advice} columns are {self.listed()}.")

    def listed(self) -> str:
        """The names of the columns, for messages."""
        names = list(self.columns)
        if len(names) > MOST_NAMES:
            names[MOST_NAMES // 2 : -MOST_NAMES // 2] = ["..."]
        return ", ".join(names)

    def complete(self, names: Iterable[str]) -> Table:
        """The rows in which none of these columns is empty."""
        gaps = np.any([is_empty(self.columns[name]) for name in names], axis=0)
        kept = np.flatnonzero(~gaps & np.ones(len(self), bool))  # of no columns, every row
        if not len(kept):
            raise FileError(f"{self.name} has an empty cell in every row: leave columns out with --drop, or --impute.")
        return replace(self, columns={name: cells[kept] for name, cells in self.columns.items()}, rows=kept)


def is_empty(cells: NDArray) -> NDArray[np.bool_]:
    """Which cells of a column are empty."""
    return np.array([cell is None for cell in cells], bool) if cells.dtype == object else np.isnan(cells)


def place_of(column: str, width: int) -> int | None:
    """Index of the column given by its place among `width`, 1 the first, -1 the last; None if it is none of them."""
    try:
        place = int(column)
    except ValueError:
        return None
    if place == 0 or abs(place) > width:
        return None
    return place - 1 if place > 0 else place


def read_table(
    path: str | os.PathLike,
    kind: str | None = None,
    *,
    header: bool = True,
    texts: Collection[str] = (),
    ignored: Collection[str] = (),
    used: Collection[str] | None = None,
    report: Report | None = None,
) -> Table:
    """Read a table.

    Parameters
    ----------
    path : path or "-"
        CSV and TSV may be compressed as .gz, .bz2, .xz; "-" is standard input.
    kind : {"csv", "tsv", "parquet", "arrow"} or None, default None
        None goes by the ending of the name.
    header : bool, default True
        Whether the first line of a CSV or TSV file names the columns; otherwise they are called "1", "2", ...
    texts : names of columns of a CSV or TSV file that stay texts even where all cells are numbers
    ignored, used : names of columns of a Parquet or Arrow file
        Columns that are ignored, and all others than those used, may be of any type; they are read as empty.
    report : callable or None, default None
        Called with the share of the file that has been read.

    Returns
    -------
    table : Table

    Raises
    ------
    FileError
        The file cannot be read, or a line is wrong; the message names it and says what was expected.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("age,town\\n31,Oslo\\n47,Rome\\n")
    >>> table = read_table(path)
    >>> table.columns["age"].tolist(), table.columns["town"].tolist()
    ([31.0, 47.0], ['Oslo', 'Rome'])
    """
    name = shown_name(path)
    kind = kind or without_compression(path).suffix.lower().lstrip(".")
    data = read_bytes(path, report)
    if kind in ("parquet", "pq", "arrow", "feather"):
        kind = "parquet" if kind in ("parquet", "pq") else "arrow"
        table = Table(name, read_columns(data, kind, name, lambda labels: _chosen(labels, ignored, used, name)))
    else:
        table = _read_csv(data, "\t" if kind == "tsv" else None, name, header, texts)
    if not len(table):
        raise FileError(f"{name} holds no rows: expected a table with named columns and at least one row.")
    return table


def _chosen(labels: list[str], ignored: Collection[str], used: Collection[str] | None, name: str) -> set[str]:
    """The names of columns that are used and not ignored."""
    known = Table(name, dict.fromkeys(labels, np.empty(0)))
    dropped = {known.resolve(label) for label in ignored if label in labels or label.lstrip("-").isdigit()}
    return set(labels if used is None else used) - dropped


def _read_csv(
    data: bytes | bytearray, separator: str | None, name: str, header: bool, as_texts: Collection[str]
) -> Table:
    """Read a CSV table with `pyarrow`; what it rejects is examined record by record."""
    arrow = import_pyarrow()
    import pyarrow.csv

    if data.startswith(b"\xef\xbb\xbf"):  # a byte order mark
        data = data[3:]
    if not re.search(rb"\S", data):
        raise FileError(f"{name} is empty: expected a table with named columns.")
    begin, end = _first_record(data)
    first = bytes(data[begin:end]).strip(b"\r\n").decode("utf-8", "replace")
    separator = separator or max(SEPARATORS, key=first.count)
    try:
        labels = next(csv.reader(io.StringIO(first, newline=""), delimiter=separator))
    except csv.Error as refused:
        raise FileError(f"{name}, line 1: {refused}, expected names of columns separated by {separator!r}.") from None
    labels = [label.strip() for label in labels] if header else [str(number + 1) for number in range(len(labels))]
    check_names(labels, f"{name}, line 1")
    rows = memoryview(data)[end if header else begin :]
    if not re.search(rb"\S", rows) and first.count('"') % 2 == 0:  # a quote that is not closed is explained below
        return Table(name, dict.fromkeys(labels, np.empty(0)))
    try:
        table = pyarrow.csv.read_csv(
            arrow.BufferReader(rows),
            read_options=pyarrow.csv.ReadOptions(column_names=labels),
            parse_options=pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=b'"' in data),
            convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(labels, arrow.string())),
        )
    except (arrow.ArrowException, ValueError) as refused:
        raise _explained(data, separator, len(labels), name, refused) from None
    cells_by_name = {label: _trimmed(column) for label, column in zip(labels, table.columns, strict=True)}
    found = Table(name, cells_by_name, data, separator, header)
    kept = {found.resolve(label) for label in as_texts if label in cells_by_name or label.lstrip("-").isdigit()}
    for label, cells in found.columns.items():
        found.columns[label] = texts_of(cells) if label in kept else _numbers_or_texts(cells, label, found)
    return found


OPENING = re.compile(rb'(?:^|[,;\t|])\s*"')  # a quote opens a name only at its beginning: an inch sign inside does not
CLOSING = re.compile(rb'(?:[^"]|"")*"(?!")')


def _first_record(data: bytes | bytearray) -> tuple[int, int]:
    """Begin and end of the first record: the first line that is not empty, and those a quoted name continues on."""
    begin, is_open = None, False
    for line in re.finditer(rb"[^\r\n]+(\r\n|\r|\n|$)", data):
        begin = line.start() if begin is None else begin
        text, place = line.group(), 0
        while found := (CLOSING.match if is_open else OPENING.search)(text, place):
            place, is_open = found.end(), not is_open
        if not is_open:
            return begin, line.end()
    return begin or 0, len(data)


def _trimmed(column: Any) -> Any:
    """Cells without blanks around them, null where a cell is empty."""
    arrow = import_pyarrow()
    import pyarrow.compute as compute

    column = compute.utf8_trim_whitespace(column)
    return compute.if_else(compute.is_in(column, arrow.array(EMPTY_WORDS)), None, column)


def _numbers_or_texts(column: Any, label: str, table: Table) -> NDArray:
    """A column of CSV: numbers if every cell that is not empty is one, texts if hardly any is."""
    from pyarrow import ArrowInvalid, float64

    try:
        return column.cast(float64()).to_numpy().astype(np.float64)
    except ArrowInvalid:
        cells = texts_of(column)
    filled = np.flatnonzero([cell is not None for cell in cells])
    is_number = np.array([_is_number(cell) for cell in cells[filled]])
    if is_number.all():  # Python accepts more notations, such as +1
        return cells.astype(np.float64)
    if is_number.mean() < MOSTLY:
        return cells
    row = int(filled[np.argmin(is_number)])
    raise FileError(
        f"{table.name}, {table.place(row)}, column {label!r}: {cells[row]!r} is not a number, as {is_number.sum():,} "
        f"of {len(is_number):,} cells of the column are: correct the cell, or say --categorical {label!r}."
    )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _explained(data: bytes | bytearray, separator: str, n_columns: int, name: str, refused: Exception) -> FileError:
    """Return the error for the wrong line of a CSV file."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as wrong:
        line = data[: wrong.start].count(b"\n") + 1
        return FileError(f"{name}, line {line}: bytes that are no UTF-8 text: save the file as UTF-8.")
    records = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        for record in records:
            if record and len(record) != n_columns:
                return FileError(
                    f"{name}, line {records.line_num}: {len(record)} cells, expected {n_columns} as in the first line."
                )
    except csv.Error as wrong:
        return FileError(f"{name}, line {records.line_num}: {wrong}, expected cells separated by {separator!r}.")
    return FileError(f"{name} is not a table ({first_line(refused)}): expected cells separated by {separator!r}.")
