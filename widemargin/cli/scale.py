"""`widemargin scale`: every feature of a LIBSVM file into a range, as LIBSVM's svm-scale does.

    x'  =  lower + (upper - lower) (x - min) / (max - min)

min and max of each feature are those of the file, in which a feature that is left out counts as zero, or those saved
with another file (-s, -r). Files of ranges are exchanged with svm-scale:

    y                   only with -y: range wanted, range found
    x
    lower upper
    index min max       one line per feature, indices from 1

A feature with a single value has no information and is left out, as in svm-scale.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import chain, repeat, takewhile
from types import SimpleNamespace
from typing import Any

import click

from widemargin.cli.command import FINE, new_command, option
from widemargin.cli.options import ANY_NUMBER
from widemargin.cli.paths import FILE, OUTPUT, OUTPUT_OR_STREAM
from widemargin.cli.screen import Screen, open_output
from widemargin.storage.errors import FileError

DIGITS = sys.float_info.dig  # of scaled values: the last digit of 0.7083330000000001 is rounding of the scaling


@dataclass
class Ranges:
    """Content of svm-scale's files: the target range, and the range of each feature (index from 1) and the labels."""

    lower: float
    upper: float
    found: dict[int, tuple[float, float]]
    labels: tuple[float, ...] | None = None  # wanted low and high, found low and high


@new_command("scale")
@click.argument("data", type=FILE)
@option("-l", "--lower", type=ANY_NUMBER, default="-1", metavar="L", help="Lower end of the range.  [-1]")
@option("-u", "--upper", type=ANY_NUMBER, default="1", metavar="U", help="Upper end of the range.  [1]")
@option("-y", "--labels", nargs=2, type=ANY_NUMBER, metavar="L U", help="Bring the labels into this range too.")
@option("-s", "--save", type=OUTPUT, metavar="RANGES", help="Save what was found, for other files.")
@option("-r", "--restore", type=FILE, metavar="RANGES", help="Use what was saved before.")
@option("-o", "--output", type=OUTPUT_OR_STREAM, metavar="OUT", help="File to write.  [standard output]")
def command(options: SimpleNamespace, screen: Screen) -> int:
    """Scale the features of a LIBSVM file DATA into a range, by default [-1, 1].

    Examples
    --------
    widemargin scale -s ranges a9a > a9a.scaled
        To [-1, 1]; what was found is saved.
    widemargin scale -r ranges a9a.t > a9a.t.scaled
        The test file in the same way.
    widemargin scale -l 0 -u 1 counts -o counts.scaled
        To [0, 1], which keeps zeros that are minima.
    """
    from widemargin.io.libsvm_text import read_libsvm, write_libsvm

    if options.save and options.restore:
        raise ValueError("-s saves ranges that are found, -r uses saved ones: give one of them.")
    if not options.lower < options.upper:
        raise ValueError(f"The range {options.lower:g} to {options.upper:g} is empty: -l must be below -u.")
    if screen.as_json and options.output in (None, "-"):
        raise ValueError("With --json the scaled data needs a file: say -o OUT.")
    with screen.progress(f"reading {options.data}", 1.0) as steps:
        X, y = read_libsvm(options.data, report=steps.reach)
    ranges = read_ranges(options.restore) if options.restore else find_ranges(X, y, options)
    if options.save:
        with open_output(options.save) as stream:
            stream.write(format_ranges(ranges))
    before = X.nnz
    unknown = [index + 1 for index in set(X.indices.tolist()) if index + 1 not in ranges.found]
    if unknown and options.restore:
        screen.note(f"Features that {options.restore} does not know are left out, such as {min(unknown)}.")
    X = scaled(X, ranges)
    if ranges.labels:
        y = _stretch(y, *ranges.labels[2:], *ranges.labels[:2])
    if X.nnz > 2 * before:
        screen.note(
            f"{before:,} values that are not zero became {X.nnz:,}: -l 0 keeps zeros that are the minimum of a feature."
        )
    with open_output(options.output) as stream:
        write_libsvm(X, y, stream, digits=DIGITS)
    screen.finish(command="scale", data=options.data, output=options.output, samples=len(y), values=X.nnz)
    return FINE


def find_ranges(X: Any, y: Any, options: SimpleNamespace) -> Ranges:
    """Return minima and maxima of the features; omitted values count as zero."""
    low, high = X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    ranges = enumerate(zip(low.tolist(), high.tolist()), start=1)
    found = {index: (least, largest) for index, (least, largest) in ranges if least < largest}
    labels = (*options.labels, float(y.min()), float(y.max())) if options.labels else None
    return Ranges(options.lower, options.upper, found, labels)


def scaled(X: Any, ranges: Ranges) -> Any:
    """The features in their range; those whose zeros do not stay zero become dense."""
    import numpy as np
    from scipy.sparse import csc_matrix, hstack

    X = X.tocsc()
    X.resize(X.shape[0], max([X.shape[1], *ranges.found]))
    low, high = np.zeros((2, X.shape[1]))
    for index, (least, largest) in ranges.found.items():
        low[index - 1], high[index - 1] = least, largest

    def stretched(values: Any, columns: Any) -> Any:
        return _stretch(values, low[columns], high[columns], ranges.lower, ranges.upper)

    known = np.flatnonzero(low < high)
    fills = stretched(np.zeros(len(known)), known) != 0.0
    filled, sparse = known[fills], known[~fills]
    rest = X[:, sparse]
    rest.data = stretched(rest.data, np.repeat(sparse, np.diff(rest.indptr)))
    scattered = csc_matrix((np.ones(len(known)), (np.arange(len(known)), [*filled, *sparse])), (len(known), X.shape[1]))
    result = (hstack([stretched(X[:, filled].toarray(), filled), rest]) @ scattered).tocsr()
    result.eliminate_zeros()
    return result


def _stretch(values: Any, low: Any, high: Any, lower: float, upper: float) -> Any:
    """Map [low, high] to [lower, upper]; both ends exactly, whatever the rounding. An empty range is left alone."""
    import numpy as np

    spread = np.less(low, high)
    moved = lower + (upper - lower) * (values - low) / np.where(spread, np.subtract(high, low), 1.0)
    exact = np.where(values == low, lower, np.where(values == high, upper, moved))
    return np.where(spread, exact, values)


def format_ranges(ranges: Ranges) -> str:
    """The text of a file of ranges.

    Examples
    --------
    >>> print(format_ranges(Ranges(-1.0, 1.0, {2: (0.0, 4.5)})), end="")
    x
    -1 1
    2 0 4.5
    """
    from widemargin.io.libsvm_text import shortest

    lines = []
    if ranges.labels:
        wanted, found = ranges.labels[:2], ranges.labels[2:]
        lines += ["y", *(f"{shortest(low)} {shortest(high)}" for low, high in (wanted, found))]
    lines += ["x", f"{shortest(ranges.lower)} {shortest(ranges.upper)}"]
    lines += [f"{index} {shortest(low)} {shortest(high)}" for index, (low, high) in ranges.found.items()]
    return "\n".join(lines) + "\n"


def read_ranges(path: str) -> Ranges:
    """A file of ranges, ours or svm-scale's."""
    from widemargin.io.raw_bytes import read_bytes

    lines = read_bytes(path).decode("utf-8", "replace").splitlines()
    numbered = enumerate(chain(lines, repeat("")), start=1)

    def numbers(line: tuple[int, str], count: int) -> list[float]:
        try:
            values = [float(word) for word in line[1].split()]
        except ValueError:
            values = []
        if len(values) != count:
            raise FileError(f"{path}, line {line[0]}: expected {count} numbers, as `widemargin scale -s` writes them.")
        return values

    labels = None
    number, word = next(numbered)
    if word == "y":
        labels = (*numbers(next(numbered), 2), *numbers(next(numbered), 2))
        number, word = next(numbered)
    if word != "x":
        raise FileError(f"{path}, line {number}: expected 'x': this is no file of ranges by `widemargin scale -s`.")
    lower, upper = numbers(next(numbered), 2)
    features = {}
    for line in takewhile(lambda line: line[1].strip(), numbered):
        index, low, high = numbers(line, 3)
        features[int(index)] = (low, high)
    return Ranges(lower, upper, features, labels)
