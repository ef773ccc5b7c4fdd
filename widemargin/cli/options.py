"""The options that commands share, and the values they take. Letters, numbers and defaults are those of `svm-train`.

-s  model   0 svc   1 nusvc   2 oneclass   3 svr   4 nusvr
-t  kernel    0 linear u'v   1 poly (g u'v + r)^d   2 rbf exp(-g |u-v|^2)   3 sigmoid tanh(g u'v + r)   4 precomputed

Nothing heavy is imported here, so that `--help` does not wait for NumPy.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import click
from click.shell_completion import CompletionItem

from widemargin.cli.command import option, together
from widemargin.cli.paths import FILE
from widemargin.estimators.registry import LIBSVM_TYPES

MACHINES = {name.lower().removesuffix("svm"): name for name in LIBSVM_TYPES}  # svc, nusvc, oneclass, svr, nusvr
KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
MORE_KERNELS = ("laplacian", "chi2", "cosine")  # without a number in LIBSVM
STRING_KERNELS = ("spectrum", "blended", "mismatch", "gapped", "subsequence")  # the first words of their names
TABLES = {"csv": (".csv",), "tsv": (".tsv", ".tab"), "parquet": (".parquet", ".pq"), "arrow": (".arrow", ".feather")}
ARRAYS = {"npz": (".npz",), "npy": (".npy",)}
STRINGS = {"fasta": (".fasta", ".fa", ".fna", ".faa"), "strings": ()}
#: Formats of data with the endings of their files.
FORMATS = {"libsvm": (".libsvm", ".svm", ".svmlight"), **TABLES, **ARRAYS, **STRINGS}


# ---- values ----------------------------------------------------------------------------------------------------------


class Named(click.Choice):
    """A word of a list, or its number in LIBSVM."""

    def __init__(self, numbered: tuple[str, ...], more: tuple[str, ...] = ()) -> None:
        super().__init__(numbered + more)
        self.numbered = numbered

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> str:
        if value.isdecimal() and int(value) < len(self.numbered):
            return self.numbered[int(value)]
        if value not in self.choices:
            self.fail(f"{value!r} is unknown, expected {self.listed()}", parameter, context)
        return value

    def listed(self) -> str:
        """The words with their numbers, as shown in help and errors."""
        numbered = [f"{number} {word}" for number, word in enumerate(self.numbered)]
        return ", ".join([*numbered, *self.choices[len(numbered) :]])


class Number(click.ParamType):
    """A number, not nan, above or from `least` on where given; or one of some words."""

    name = "number"

    def __init__(
        self, least: float = -math.inf, *, whole: bool = False, above: bool = False, words: tuple[str, ...] = ()
    ) -> None:
        self.least, self.whole, self.above, self.words = least, whole, above, words

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> float | str:
        if value in self.words:
            return value
        noun = "a whole number" if self.whole else "a number"
        try:
            number = int(value) if self.whole else float(value)
        except ValueError:
            number = math.nan
        if math.isnan(number):
            self.fail(f"{value!r} is not {noun}, expected {' or '.join([noun, *self.words])}", parameter, context)
        if number < self.least or (self.above and number == self.least):
            expected = f"{noun} above" if self.above else "at least"
            self.fail(f"{value} is too small, expected {expected} {self.least:g}", parameter, context)
        return number

    def shell_complete(self, context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        return [CompletionItem(word) for word in self.words if word.startswith(begun)]


class LogRange(click.ParamType):
    """grid.py's `begin,end,step` of exponents of two.

    Examples
    --------
    >>> LogRange().convert("-1,3,2", None, None)
    [0.5, 2.0, 8.0]
    """

    name = "begin,end,step"
    MOST = 1000  # largest number of values; a tiny step is probably a typing error

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> list[float]:
        try:
            begin, end, step = (float(part) for part in value.split(","))
            count = math.floor((end - begin) / step + 1e-9) + 1  # the end is included, whatever its rounding
        except (ValueError, ZeroDivisionError, OverflowError):
            self.fail(f"{value!r} is not a range, expected begin,end,step such as -5,15,2", parameter, context)
        if not 1 <= count <= self.MOST:
            self.fail(f"{value!r} has {max(count, 0)} values, expected 1 to {self.MOST}", parameter, context)
        return [2.0 ** (begin + number * step) for number in range(count)]


Whole = partial(Number, whole=True)
POSITIVE, FROM_ZERO, ANY_NUMBER = Number(0.0, above=True), Number(0.0), Number()
SWITCH: dict[str, Any] = {"type": bool, "metavar": "[0|1]"}  # LIBSVM's no and yes
MACHINE_WORDS, KERNEL_WORDS = Named(tuple(MACHINES)), Named(KERNELS, MORE_KERNELS + STRING_KERNELS)


# ---- options ---------------------------------------------------------------------------------------------------------

_machine, _kernel = partial(option, heading="The machine"), partial(option, heading="The kernel")
_effort, _data = partial(option, heading="How exactly, at what cost"), partial(option, heading="The data")

#: Choice of model and kernel, and accuracy.
machine_options = together(
    _machine("-s", "--machine", type=MACHINE_WORDS, default="svc", metavar="M",
             help=f"{MACHINE_WORDS.listed()}.  [svc]"),
    _machine("-c", "--C", "C", type=POSITIVE, default="1", metavar="C",
             help="Price of errors; inf: none allowed.  [1]"),
    _machine("-n", "--nu", type=POSITIVE, default="0.5", metavar="NU", help="nu of nusvc, oneclass and nusvr.  [0.5]"),
    _machine("-p", "--epsilon", type=FROM_ZERO, default="0.1", metavar="EPS",
             help="Half-width of the tube of svr without loss.  [0.1]"),
    _machine("--loss", type=click.Choice(["linear", "quadratic"]), default="linear",
             help="How errors of svc and svr count.  [linear]"),
    _machine("-w", "--weight", nargs=2, multiple=True, metavar="LABEL W",
             help="C of a class becomes W * C; -w1 5 works too; repeat for more classes."),
    _machine("-b", "--probability", **SWITCH, default="0",
             help="1: also probabilities of classes; of svr and nusvr the scale of errors.  [0]"),
    _kernel("-t", "--kernel", type=KERNEL_WORDS, default="rbf", metavar="K", help=f"{KERNEL_WORDS.listed()}.  [rbf]"),
    _kernel("-g", "--gamma", type=Number(0.0, words=("auto", "scale")), default="auto", metavar="G",
            help="A number, auto = 1/features, or scale = 1/(features * variance).  [auto]"),
    _kernel("-d", "--degree", type=Whole(0), default=3, metavar="D",
            help="Degree of poly; length of substrings of string kernels.  [3]"),
    _kernel("-r", "--coef0", type=ANY_NUMBER, default="0", metavar="R", help="r of poly and sigmoid.  [0]"),
    _effort("-e", "--tol", type=POSITIVE, default="1e-3", metavar="TOL",
            help="Largest violation of the optimality conditions.  [0.001]"),
    _effort("--stopping", type=click.Choice(["kkt", "gap", "objective"]), default="kkt",
            help="What TOL is compared with.  [kkt]"),
    _effort("--time-limit", type=POSITIVE, metavar="S", help="Seconds after which the best model so far is kept."),
    _effort("-m", "--cache", "cache_size", type=POSITIVE, metavar="MB",
            help="Memory for kernel rows.  [a share of what is free]"),
    _effort("-h", "--shrinking", **SWITCH, default="1",
            help="As in LIBSVM; accepted, of no effect on the answer.  [1]"),
    _effort("-j", "--jobs", "n_jobs", type=int, metavar="N", help="Threads.  [all cores]"),
)  # fmt: skip

format_options = together(
    _data("-f", "--format", type=click.Choice(list(FORMATS)), help="Format of the data.  [by the ending; libsvm]"),
    _data("--no-header", is_flag=True, help="CSV, TSV: the first line is data; columns are called 1, 2, ..."),
)
#: How a training file is read.
data_options = together(
    format_options,
    _data("--target", metavar="COLUMN",
          help="Column to predict in tables and .npy: a name, or a place, -1 the last. Array of an .npz file.  [y]"),
    _data("--categorical", metavar="COLUMN", multiple=True,
          help="Column of numbers that are names of something; repeat for more."),
    _data("--drop", metavar="COLUMN", multiple=True, help="Column to leave out; repeat for more."),
    _data("--impute", is_flag=True, help="Fill empty cells of a table: a column's median, or most frequent text."),
    _data("--drop-missing", is_flag=True, help="Leave out the rows of a table that have an empty cell."),
    _data("--scale", type=click.Choice(["none", "standard", "minmax"]), default="none",
          help="Bring the numbers of a table to mean 0 and deviation 1, or to [0, 1].  [none]"),
    _data("--features", type=Whole(1), metavar="N", help="Number of features of LIBSVM text.  [the largest index]"),
)  # fmt: skip
#: A saved model and data for it.
model_and_data = together(click.argument("model", type=FILE), click.argument("data", type=FILE), format_options)
