"""The compiled part of reading LIBSVM text: bytes to labels, indices and values, in chunks of whole lines.

    line   :=  [label {blank feature}] [# anything] newline          feature  :=  index:value  or  qid:anything

Two passes. The first counts newlines and colons, upper bounds for rows and values, so that every chunk knows where in
the arrays of the whole file its part begins. The second parses, each chunk on its own thread; a line without a label
is a row of length -1, and a colon without a value (in comments, of qid) an index of -1, which are left out at the end.
A chunk stops at the first wrong line and says where; why it is wrong is found out by `libsvm_text.wrong_with`, in plain
Python.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.io.decimal_number import TOO_LONG, parse_digits, parse_number, read_left_over
from widemargin.parallel.tiles import run_tiles

SMALLEST_CHUNK = 1 << 18  # bytes: handing over a chunk costs 0.1-0.2 ms, parsing this many about 1 ms
CHUNKS_PER_THREAD = 4  # so that a thread with easy lines takes over from one with hard lines
NO_LABEL = -2  # in place of the last index of a line whose label has not been read

_NEWLINE, _COLON, _HASH, _SPACE, _Q, _I, _D = (ord(letter) for letter in "\n:# qid")
_TAB, _RETURN = ord("\t"), ord("\r")  # with vertical tab and form feed between them: white space


Parsed = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[Any], NDArray[Any]]


class WrongLine(ValueError):
    """The text is wrong at the byte that is its argument."""


def parse(data: bytearray, n_threads: int) -> Parsed:
    """Labels, and values, indices as written and row starts of a CSR matrix, from bytes that end with a newline."""
    text = np.frombuffer(data, np.uint8)
    size = max(SMALLEST_CHUNK, len(data) // (CHUNKS_PER_THREAD * n_threads) + 1)
    cuts = [0]
    while cuts[-1] < len(data):
        cuts.append(data.index(b"\n", min(cuts[-1] + size, len(data)) - 1) + 1)
    chunks = [text[begin:end] for begin, end in pairwise(cuts)]
    bounds = np.zeros((len(cuts), 2), np.int64)  # rows and values before each chunk, at most

    def count(chunk: int) -> None:
        bounds[chunk + 1] = count_rows_and_colons(chunks[chunk])

    run_tiles(count, len(chunks), n_threads)
    bounds = np.cumsum(bounds, axis=0)
    for index_type in (np.int32, np.int64):
        parsed, largest = _parse_chunks(chunks, bounds, index_type, n_threads)
        if largest <= np.iinfo(index_type).max:
            break
    return parsed


def _parse_chunks(
    chunks: list[NDArray[np.uint8]], bounds: NDArray[np.int64], index_type: type, n_threads: int
) -> tuple[Parsed, int]:
    """All chunks with indices of one width, and the largest index."""
    n_rows, n_values = bounds[-1]
    labels, lengths = np.zeros(n_rows), np.full(n_rows, -1, np.int64)
    values, indices = np.empty(n_values), np.empty(n_values, index_type)
    largest = np.zeros(len(chunks), np.int64)
    wrong: list[int] = []

    def work(chunk: int) -> None:
        rows, entries = (slice(*bounds[chunk : chunk + 2, column]) for column in (0, 1))
        place, n_read, largest[chunk] = parse_lines(
            chunks[chunk], labels[rows], lengths[rows], indices[entries], values[entries]
        )
        indices[entries][n_read:] = -1
        left_over = (read_left_over(chunks[chunk], numbers) for numbers in (labels[rows], values[entries][:n_read]))
        before = sum(map(len, chunks[:chunk]))
        wrong.extend(before + at for at in (place, *left_over) if at is not None)

    run_tiles(work, len(chunks), n_threads)
    if wrong:
        raise WrongLine(min(wrong))
    with_label = lengths >= 0
    if not with_label.all():
        labels, lengths = labels[with_label], lengths[with_label]
    row_starts: NDArray[Any] = np.concatenate([[0], np.cumsum(lengths)]).astype(index_type)
    if row_starts[-1] < n_values:
        with_value = indices >= 0
        indices, values = indices[with_value], values[with_value]
    return (labels, values, indices, row_starts), int(largest.max(initial=0))


@jit
def count_rows_and_colons(text):
    """Upper bounds for the rows and the values of a chunk."""
    newlines = 0
    colons = 0
    for byte in text:
        newlines += byte == _NEWLINE
        colons += byte == _COLON
    return newlines, colons


@jit
def _is_blank(byte):
    """White space within a line: tab, vertical tab, form feed, carriage return, space."""
    return byte == _SPACE or (_TAB <= byte <= _RETURN and byte != _NEWLINE)


@jit
def parse_lines(text, labels, lengths, indices, values):
    """Parse lines into the arrays; returns the place of a wrong token or None, the number of values, the largest index.

    Indices that do not fit are cut off: the largest one shows it.
    """
    at = 0
    count = 0
    largest = np.int64(0)
    for row in range(len(labels)):
        begin = count
        last = np.int64(NO_LABEL)
        while True:
            while _is_blank(text[at]):
                at += 1
            if text[at] == _NEWLINE or text[at] == _HASH:
                break
            start = at
            if last == NO_LABEL:
                labels[row], at, fine = parse_number(text, at)
                last = np.int64(-1)
            elif text[at] == _Q:
                fine = text[at + 1] == _I and text[at + 2] == _D and text[at + 3] == _COLON
                while not (text[at] == _NEWLINE or text[at] == _HASH or _is_blank(text[at])):
                    at += 1
            else:
                index, at = parse_digits(text, at, np.int64(0))
                fine = at > start and text[at] == _COLON and last < index < TOO_LONG
                if fine:
                    indices[count] = index
                    values[count], at, fine = parse_number(text, at + 1)
                    last = index
                    count += 1
            if not (fine and (text[at] == _NEWLINE or text[at] == _HASH or _is_blank(text[at]))):
                return start, count, largest
        while text[at] != _NEWLINE:
            at += 1
        at += 1
        if last != NO_LABEL:
            lengths[row] = count - begin
            largest = max(largest, last)
    return None, count, largest
