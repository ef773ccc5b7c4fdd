"""A kernel from its text, such as "Gaussian(gamma=0.5) + 2.0 * Linear()": what `repr` of a kernel writes.

The text is read as a formula, not run as a programme: kernels of the package with numbers, strings and tuples of them
as arguments, `+`, `*` and brackets are all there is.
"""

from __future__ import annotations

import ast
import math
import operator
from typing import Any

import widemargin.kernels as kernels
from widemargin.kernels import Kernel
from widemargin.storage.errors import FileError

OPERATORS = {ast.Add: operator.add, ast.Mult: operator.mul}
WITH_FUNCTION = (kernels.BlockKernel, kernels.PairKernel)  # a function has no text
CONSTANTS = {"inf": math.inf, "nan": math.nan}


def kernel_from_text(text: str) -> Kernel:
    """Read a kernel from its text.

    Parameters
    ----------
    text : str

    Returns
    -------
    kernel : Kernel

    Raises
    ------
    FileError
        The text is anything but a formula of the package's kernels.

    Examples
    --------
    >>> from widemargin.io.kernel_text import kernel_from_text
    >>> kernel_from_text("Gaussian(gamma=0.5)")
    Gaussian(gamma=0.5)
    """
    try:
        value = _value(ast.parse(text, mode="eval").body)
    except (SyntaxError, TypeError, ValueError, KeyError, RecursionError, MemoryError, OverflowError):
        value = None
    if not isinstance(value, Kernel):
        raise FileError(f"{text!r} is not a formula of kernels, expected for example 'Gaussian(gamma=0.5) + Linear()'.")
    return value


def _value(node: ast.expr) -> Any:
    """Evaluate one node of the formula; KeyError or ValueError for whatever does not belong in one."""
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None):
            return node.value
        case ast.Tuple(elts=items):
            return tuple(map(_value, items))
        case ast.Name(id=name):
            return CONSTANTS[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=op, right=right):
            values = _value(left), _value(right)
            if not any(isinstance(value, Kernel) for value in values):
                raise ValueError("only kernels are added and multiplied: 'a' * 10**9 would be a long string")
            return OPERATORS[type(op)](*values)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            kernel = getattr(kernels, name) if name in kernels.__all__ else None
            if not (isinstance(kernel, type) and issubclass(kernel, Kernel)) or kernel in WITH_FUNCTION:
                raise ValueError(name)
            return kernel(*map(_value, args), **{str(k.arg): _value(k.value) for k in keywords})
    raise ValueError(ast.dump(node))
