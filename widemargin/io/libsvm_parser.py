"""The compiled part of reading LIBSVM text: bytes to labels, indices and values, in chunks of whole lines.

    line   :=  [label {blank feature}] [# anything] newline          feature  :=  index:value  or  qid:anything

Two passes. The first counts newlines and colons, upper bounds for rows and values, so that every chunk knows where in
the arrays of the whole file its part begins. The second parses, each chunk on its own thread. A chunk stops at the
first wrong line and says where; why it is wrong is found out by `libsvm_text.wrong_with`, in plain Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.io.decimal_number import ODD, WRONG, parse_number
from widemargin.parallel.tiles import run_tiles

SMALLEST_CHUNK = 1 << 18  # bytes: handing over a chunk costs 0.1-0.2 ms, parsing this many about 1 ms
CHUNKS_PER_THREAD = 4  # so that a thread with easy lines takes over from one with hard lines
ODD_ROOM = 64  # numbers per chunk left to Python's `float`; a chunk with more is parsed again with room for all
INT32_MAX = 2**31 - 1
INDEX_DIGITS = 18  # indices of more digits do not fit into int64

FINE, WRONG_LINE, INDEX_TOO_WIDE, MORE_ODD = 0, 1, 2, 3  # how the parsing of a chunk ends
STATUS, ROWS, VALUES, LARGEST, SMALLEST, PLACE, ODDS, FACTS = range(8)  # slots of what a chunk reports
IS_LABEL, SLOT, BEGIN, END = range(4)  # slots of a number left to Python

_NEWLINE, _COLON, _HASH, _SPACE, _ZERO, _Q, _I, _D = (ord(letter) for letter in "\n:# 0qid")
_TAB, _RETURN = ord("\t"), ord("\r")  # with vertical tab and form feed between them: white space


@dataclass
class ParsedText:
    """A file in the parts of a CSR matrix, indices as written. `wrong_at` >= 0: a wrong line holds that byte."""

    labels: NDArray[np.float64]
    values: NDArray[np.float64]
    indices: NDArray[Any]
    row_ends: NDArray[np.int64]
    smallest: int = -1  # indices; -1 where there are none
    largest: int = -1
    wrong_at: int = -1


def parse(text: NDArray[np.uint8], n_threads: int) -> ParsedText:
    """Parse bytes that end with a newline."""
    cuts = _cut(text, n_threads)
    n_chunks = len(cuts) - 1
    bounds = np.zeros((n_chunks + 1, 2), np.int64)  # rows and values before each chunk, at most

    def count(chunk: int) -> None:
        bounds[chunk + 1] = count_rows_and_colons(text, cuts[chunk], cuts[chunk + 1])

    run_tiles(count, n_chunks, n_threads)
    np.cumsum(bounds, axis=0, out=bounds)
    for index_type in (np.int32, np.int64):
        parsed, facts = _parse_chunks(text, cuts, bounds, index_type, n_threads)
        if not (facts[:, STATUS] == INDEX_TOO_WIDE).any():
            break
    wrong = facts[facts[:, STATUS] == WRONG_LINE, PLACE]
    if len(wrong):
        parsed.wrong_at = int(wrong.min())
    return parsed


def _cut(text: NDArray[np.uint8], n_threads: int) -> list[int]:
    """Places that cut the text into chunks of whole lines."""
    size = max(SMALLEST_CHUNK, len(text) // (CHUNKS_PER_THREAD * n_threads) + 1)
    cuts = [0]
    while cuts[-1] < len(text):
        cuts.append(after_newline(text, min(cuts[-1] + size, len(text)) - 1))
    return cuts


def _parse_chunks(
    text: NDArray[np.uint8], cuts: list[int], bounds: NDArray[np.int64], index_type: type, n_threads: int
) -> tuple[ParsedText, NDArray[np.int64]]:
    """All chunks with indices of one width, and what each reported."""
    n_rows, n_values = bounds[-1]
    labels, row_ends = np.empty(n_rows), np.empty(n_rows, np.int64)
    values, indices = np.empty(n_values), np.empty(n_values, index_type)
    facts = np.zeros((len(cuts) - 1, FACTS), np.int64)

    def work(chunk: int) -> None:
        rows, entries = (slice(*bounds[chunk : chunk + 2, column]) for column in (0, 1))
        report = facts[chunk]
        room = ODD_ROOM
        while True:
            odd = np.empty((room, 4), np.int64)
            places = labels[rows], row_ends[rows], indices[entries], values[entries], odd, report
            parse_lines(text, cuts[chunk], cuts[chunk + 1], *places)
            if report[STATUS] != MORE_ODD:
                break
            room = rows.stop - rows.start + entries.stop - entries.start
        _read_odd(text, odd[: report[ODDS]], labels[rows], values[entries], report)

    run_tiles(work, len(facts), n_threads)
    return _joined(labels, row_ends, indices, values, bounds, facts), facts


def _read_odd(text: NDArray, odd: NDArray, labels: NDArray, values: NDArray, report: NDArray) -> None:
    """The few numbers the compiled code leaves to Python; an infinite one makes its line wrong."""
    for is_label, slot, begin, end in odd.tolist():
        number = float(text[begin:end].tobytes())
        (labels if is_label else values)[slot] = number
        if not np.isfinite(number) and (report[STATUS] == FINE or begin < report[PLACE]):
            report[STATUS], report[PLACE] = WRONG_LINE, begin


def _joined(
    labels: NDArray, row_ends: NDArray, indices: NDArray, values: NDArray, bounds: NDArray, facts: NDArray
) -> ParsedText:
    """The chunks as one: what they wrote side by side, moved together where comments or blank lines left room."""
    n_values = np.concatenate([[0], np.cumsum(facts[:, VALUES])])
    for chunk, before in enumerate(n_values[:-1]):
        row_ends[bounds[chunk, 0] : bounds[chunk + 1, 0]] += before
    if not np.array_equal(facts[:, ROWS], np.diff(bounds[:, 0])):
        kept = [slice(begin, begin + length) for begin, length in zip(bounds[:, 0], facts[:, ROWS])]
        labels, row_ends = (np.concatenate([array[part] for part in kept]) for array in (labels, row_ends))
    if not np.array_equal(facts[:, VALUES], np.diff(bounds[:, 1])):
        kept = [slice(begin, begin + length) for begin, length in zip(bounds[:, 1], facts[:, VALUES])]
        indices, values = (np.concatenate([array[part] for part in kept]) for array in (indices, values))
    parsed = ParsedText(labels, values, indices, row_ends)
    if len(values):
        filled = facts[:, VALUES] > 0
        parsed.smallest, parsed.largest = int(facts[filled, SMALLEST].min()), int(facts[filled, LARGEST].max())
    return parsed


@jit
def after_newline(text, at):
    """Place after the first newline at or behind `at`."""
    while text[at] != _NEWLINE:
        at += 1
    return at + 1


@jit
def count_rows_and_colons(text, begin, end):
    """Upper bounds for the rows and the values of a chunk."""
    newlines = 0
    colons = 0
    for at in range(begin, end):
        newlines += text[at] == _NEWLINE
        colons += text[at] == _COLON
    return newlines, colons


@jit
def _is_blank(byte):
    """White space within a line: tab, vertical tab, form feed, carriage return, space."""
    return byte == _SPACE or (_TAB <= byte <= _RETURN and byte != _NEWLINE)


@jit
def _ends_token(byte):
    return byte in (_NEWLINE, _HASH) or _is_blank(byte)


@jit
def parse_lines(text, begin, end, labels, row_ends, indices, values, odd, report):
    """Parse the lines in text[begin:end] into the arrays; `report` says how many and how it ended."""
    largest_allowed = INT32_MAX if indices.itemsize == 4 else np.iinfo(np.int64).max
    row = 0
    count = 0
    n_odd = 0
    largest = np.int64(-1)
    smallest = np.int64(np.iinfo(np.int64).max)
    status = FINE
    at = begin
    while at < end:
        while _is_blank(text[at]):
            at += 1
        if text[at] == _NEWLINE:
            at += 1
            continue
        if text[at] == _HASH:
            at = after_newline(text, at)
            continue
        start = at
        value, at, kind = parse_number(text, at)
        if kind == WRONG or not _ends_token(text[at]):
            status = WRONG_LINE
            break
        if kind == ODD:
            if n_odd == len(odd):
                status = MORE_ODD
                break
            odd[n_odd, IS_LABEL], odd[n_odd, SLOT], odd[n_odd, BEGIN], odd[n_odd, END] = 1, row, start, at
            n_odd += 1
        labels[row] = value
        last = np.int64(-1)
        while True:
            while _is_blank(text[at]):
                at += 1
            if text[at] == _NEWLINE:
                at += 1
                break
            if text[at] == _HASH:
                at = after_newline(text, at)
                break
            if text[at] == _Q and text[at + 1] == _I and text[at + 2] == _D and text[at + 3] == _COLON:
                while not _ends_token(text[at]):
                    at += 1
                continue
            start = at
            index = np.int64(0)
            while True:
                digit = np.int64(text[at]) - _ZERO
                if digit < 0 or digit > 9 or at - start == INDEX_DIGITS:
                    break
                index = index * 10 + digit
                at += 1
            if at == start or text[at] != _COLON or index <= last:
                status = WRONG_LINE
                break
            if index > largest_allowed:
                status = INDEX_TOO_WIDE
                break
            at += 1
            start = at
            value, at, kind = parse_number(text, at)
            if kind == WRONG or not _ends_token(text[at]):
                status = WRONG_LINE
                break
            if kind == ODD:
                if n_odd == len(odd):
                    status = MORE_ODD
                    break
                odd[n_odd, IS_LABEL], odd[n_odd, SLOT], odd[n_odd, BEGIN], odd[n_odd, END] = 0, count, start, at
                n_odd += 1
            last = index
            smallest = min(smallest, index)
            indices[count] = index
            values[count] = value
            count += 1
        if status != FINE:
            break
        largest = max(largest, last)
        row_ends[row] = count
        row += 1
    report[STATUS], report[PLACE], report[ODDS] = status, at, n_odd
    report[ROWS], report[VALUES], report[LARGEST], report[SMALLEST] = row, count, largest, smallest
