"""Columns of Parquet and Arrow files, read by pyarrow, in memory that is bounded before anything is unpacked.

A few bytes can describe gigabytes: compressed pages, one text for millions of rows, columns without any data. What a
file would take is added up first and compared with its size (raw_bytes.py):

    Parquet   8 bytes for each value and the unpacked size of each column chunk, as the file's description states them
    Arrow     8 bytes for each cell and the unpacked size of each buffer, as decompression takes it from the buffer

Arrow files are read as the stream of messages that they contain, so that what is added up is what is read. Columns that
are not used are not decoded, and the type of the others is checked before. One thing stays: a Parquet file that
understates its sizes is found out only when pyarrow unpacks it.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.io.raw_bytes import most_unpacked, too_much_unpacked
from widemargin.storage.errors import FileError

ARROW_FILE = b"ARROW1\0\0"  # before the stream of messages
CELL_BYTES = 8  # of a float64, or a reference to a text
VIEW_WORDS = 4  # of 32 bits, in a view of a text; the first is its length


def import_pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise ImportError("CSV and other tables are read by pyarrow: pip install pyarrow") from None
    return pyarrow


def read_columns(
    data: bytes | bytearray, kind: str, name: str, choose: Callable[[list[str]], Collection[str]]
) -> dict[str, NDArray]:
    """Return the columns of a Parquet or Arrow file.

    `choose` is given the names of all columns and returns those that are used; all others are returned as empty.
    """
    arrow = import_pyarrow()
    try:
        schema, unpacked, read = (_open_parquet if kind == "parquet" else _open_arrow)(arrow, data)
        check_names(schema.names, name)
        used = set(choose(schema.names)) & set(schema.names)
        for field in schema:
            if field.name in used:
                _check_type(field.type, field.name, name)
        if unpacked(used) > most_unpacked(len(data)):
            raise too_much_unpacked(name, len(data))
        table = read(used)
        table.validate(full=True)  # offsets and codes point into the data, texts are UTF-8
        if sum(map(_view_bytes, table.columns)) > most_unpacked(len(data)):
            raise too_much_unpacked(name, len(data))
    except FileError:
        raise
    except Exception as refused:  # damaged files can raise any error
        raise FileError(f"{name} is not a {kind} file, or it is damaged ({first_line(refused)}).") from None
    empty = np.full(table.num_rows, None)
    return {label: _cells(table.column(label)) if label in used else empty for label in schema.names}


def check_names(labels: Collection[str], where: str) -> None:
    """FileError for the first name that occurs twice."""
    if len(set(labels)) < len(labels):
        twice = next(label for label, count in Counter(labels).items() if count > 1)
        raise FileError(f"{where}: two columns are called {twice!r}, expected different names.")


def first_line(error: Exception) -> str:
    """Return the first line of a message of Arrow, which can have many."""
    return (str(error).splitlines() or [type(error).__name__])[0]


# ---- Parquet


def _open_parquet(arrow: Any, data: bytes | bytearray) -> tuple[Any, Callable[..., int], Callable[..., Any]]:
    """The schema of a file, how much memory some of its columns take, and how to read them."""
    import pyarrow.parquet

    source = arrow.BufferReader(data)
    schema = pyarrow.parquet.read_schema(source)
    words = [field.name for field in schema if _is_text(field.type)]
    file = pyarrow.parquet.ParquetFile(source, read_dictionary=words)  # a text of many rows is decoded once
    described = file.metadata

    def unpacked(used: set[str]) -> int:
        total = CELL_BYTES * described.num_rows * len(schema)
        for number in range(described.num_row_groups):
            group = described.row_group(number)
            for column in map(group.column, range(group.num_columns)):
                parts = column.path_in_schema.split(".")  # pyarrow reads all whose path begins with a used name
                if any(".".join(parts[: k + 1]) in used for k in range(len(parts))):
                    total += CELL_BYTES * column.num_values + column.total_uncompressed_size
        return total

    return schema, unpacked, lambda used: file.read(columns=list(used))


# ---- Arrow: a stream of messages, whose descriptions are FlatBuffers


def _open_arrow(arrow: Any, data: bytes | bytearray) -> tuple[Any, Callable[..., int], Callable[..., Any]]:
    """The schema of a stream, how much memory it takes, and how to read some of its columns."""
    whole = arrow.py_buffer(data)
    stream = whole.slice(len(ARROW_FILE)) if data.startswith(ARROW_FILE) else whole
    schema = arrow.ipc.open_stream(stream).schema

    def read(used: set[str]) -> Any:
        places = [place for place, label in enumerate(schema.names) if label in used]  # none stands for all
        return arrow.ipc.open_stream(stream, options=arrow.ipc.IpcReadOptions(included_fields=places)).read_all()

    def unpacked(used: set[str]) -> int:
        messages = arrow.ipc.MessageReader.open_stream(stream)
        return sum(_message_bytes(message, len(schema)) for message in messages)

    return schema, unpacked, read


def _message_bytes(message: Any, n_columns: int) -> int:
    """Bytes that the rows of a message take in memory: Message.fbs of the Arrow format describes the tables."""
    if message.type not in ("record batch", "dictionary"):
        return 0
    described, body = memoryview(message.metadata), memoryview(message.body)
    batch = _child(described, _number(described, 0, "I"), 2)
    if message.type == "dictionary":
        batch, n_columns = _child(described, batch, 1), 1
    place = _field(described, batch, 0)
    total = CELL_BYTES * n_columns * (_number(described, place, "q") if place else 0)
    buffers = _child(described, batch, 2)
    for number in range(_number(described, buffers, "I")):
        start, length = struct.unpack_from("<qq", described, buffers + 4 + 16 * number)
        is_packed = _field(described, batch, 3) and length >= 8
        stated = _number(body, start, "q") if is_packed else -1  # -1 if this buffer is stored as it is
        total += length if stated < 0 else stated
    return total


def _number(data: memoryview, place: int, kind: str) -> int:
    return struct.unpack_from(f"<{kind}", data, place)[0]


def _field(data: memoryview, table: int, number: int) -> int:
    """The place of a field of a FlatBuffers table, 0 if it is not there."""
    fields = table - _number(data, table, "i")
    if 4 + 2 * number >= _number(data, fields, "H"):
        return 0
    offset = _number(data, fields + 4 + 2 * number, "H")
    return table + offset if offset else 0


def _child(data: memoryview, table: int, number: int) -> int:
    """The place of a table or vector that a field refers to."""
    place = _field(data, table, number)
    if not place:
        raise ValueError("a message without its rows")
    return place + _number(data, place, "I")


# ---- types


def _is_text(kind: Any) -> bool:
    types = import_pyarrow().types
    return types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view"


def _check_type(kind: Any, label: str, name: str) -> None:
    """FileError for a column that is neither numbers nor texts."""
    types = import_pyarrow().types
    cells = kind.value_type if types.is_dictionary(kind) else kind
    numbers = (types.is_boolean, types.is_integer, types.is_floating, types.is_decimal)
    if not (_is_text(cells) or any(is_kind(cells) for is_kind in numbers)):
        raise FileError(
            f"{name}, column {label!r} has the type {cells}, expected numbers, truth values or texts: leave it out "
            f"with --drop {label!r}, or turn it into numbers first."
        )


def _view_bytes(column: Any) -> int:
    """Bytes of the texts of a column of views, which may all refer to the same ones."""
    if str(column.type) != "string_view":
        return 0
    lengths = (np.frombuffer(chunk.buffers()[1], np.int32)[::VIEW_WORDS] for chunk in column.chunks if len(chunk))
    return sum(int(part.astype(np.int64).sum()) for part in lengths)


def _cells(column: Any) -> NDArray:
    """A column as numbers or texts."""
    from pyarrow import float64, types

    kind = column.type
    if _is_text(kind.value_type if types.is_dictionary(kind) else kind):
        return texts_of(column)
    if types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    return column.cast(float64(), safe=False).to_numpy().astype(np.float64)


def texts_of(column: Any) -> NDArray:
    """The cells of an Arrow column of texts, None where they are empty."""
    import pyarrow.compute as compute

    if not import_pyarrow().types.is_dictionary(column.type):
        column = compute.dictionary_encode(column)  # one Python string per text, not per cell
    cells = np.empty(len(column), object)
    begin = 0
    for chunk in column.chunks:
        words = np.array([*chunk.dictionary.to_pylist(), None], object)
        cells[begin : begin + len(chunk)] = words[chunk.indices.fill_null(len(words) - 1).to_numpy()]
        begin += len(chunk)
    return cells
