"""A name for a problem: a digest of its samples, its kernel and its dual.

The dual holds everything else that determines the answer: labels or targets, weights, C, nu, epsilon, loss. Tolerances
and limits are left out, since an answer to one tolerance is a start for another.

Kernels are named by their text, their numbers to ten digits: gamma="scale" may differ in the last bits between numbers
of threads. A function of the user is known by its name only. Two problems of one name are harmless: what one lends the
other is a start, and every answer is certified.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import fields
from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin.kernels.kernel import Kernel
from widemargin.kernels.samples.raw import parts_of
from widemargin.problems.dual import SignedDual

FRACTION = re.compile(r"\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+")
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
SIZE = 16  # bytes of a digest


class Fingerprint:
    """A running digest of values whose types and lengths count too."""

    def __init__(self) -> None:
        self.digest = hashlib.blake2b(digest_size=SIZE)

    def hexadecimal(self) -> str:
        return self.digest.hexdigest()

    def add(self, value: Any) -> Fingerprint:
        """Add an array, sparse matrix, table, text, number, or a sequence of these; TypeError for anything else."""
        if sp.issparse(value):
            rows = value.tocsr()
            self._say("sparse", rows.shape)
            for part in (rows.indptr, rows.indices, rows.data):
                self.add(part)
        elif isinstance(value, str | bytes):
            content = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
            self._say(type(value).__name__, len(content))
            self.digest.update(content)
        elif value is None or isinstance(value, Number):
            self._say("number", value)
        elif hasattr(value, "__array__"):
            self._add_array(np.asarray(value))
        elif isinstance(value, list | tuple):
            self._say("sequence", len(value))
            for item in value:
                self.add(item)
        else:
            raise TypeError(
                f"checkpoint names its file after the samples, and samples of type {type(value).__name__} have no "
                "content it can read: give arrays, texts, numbers or lists of these, or leave checkpoint out."
            )
        return self

    def _add_array(self, array: np.ndarray) -> None:
        self._say("array", array.dtype.str, array.shape)
        if array.dtype.kind == "O":
            for item in array.ravel().tolist():
                self.add(item)
        else:
            for part in parts_of(array) if array.ndim else [...]:  # no copy of an array that lies otherwise in memory
                self.digest.update(np.ascontiguousarray(array[part]).tobytes())

    def _say(self, *words: Any) -> None:
        self.digest.update(repr(words).encode("utf-8", "backslashreplace") + b"\n")


def text_of(kernel: Kernel) -> str:
    """A kernel in words that do not depend on where its objects are in memory.

    Examples
    --------
    >>> from widemargin.kernels import Gaussian
    >>> text_of(Gaussian(gamma=1 / 3))
    'Gaussian(gamma=0.3333333333)'
    """
    return FRACTION.sub(lambda number: f"{float(number[0]):.10g}", ADDRESS.sub("", repr(kernel)))


def digest_of_fit(kernel: Kernel, X: Any, classes: Any) -> str:
    """Digest of what the problems of a fit share; `classes` are the samples of each class, where pairs name them."""
    return Fingerprint().add(text_of(kernel)).add(X).add(list(classes)).hexadecimal()


def digest_of_problem(shared: str, dual: SignedDual, index: Any) -> str:
    """Digest of one problem of a fit, on all samples (None), those of an index, or a pair of classes."""
    digest = Fingerprint().add(shared).add(index)
    for field in fields(dual):
        digest.add(field.name).add(getattr(dual, field.name))
    return digest.hexadecimal()
