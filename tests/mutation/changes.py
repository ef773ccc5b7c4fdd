"""Small changes of a source file, one at a time: what a slip of the pen would leave behind.

comparison   < <= > >= == != is, negated, and < made <= (and so on); `and` made `or`
arithmetic   + and - exchanged, * and / exchanged, a minus sign left out
number       raised by one

In the bodies of functions only, and not in texts, annotations and error messages.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple

NEGATED = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
BOUNDARY = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
JUNCTION = {ast.And: ast.Or, ast.Or: ast.And}


class Change(NamedTuple):
    """One change: where it is, in which function, the line as it becomes, and the code of the changed file."""

    line: int
    function: str
    before: str
    after: str
    code: CodeType


def changes_of(path: str, source: str) -> Iterator[Change]:
    """All changes of a file, in its order."""
    tree = ast.parse(source)
    for function in outer_functions(tree):
        for node in nodes_in(function):
            for replacement in replacements(node):
                changed = copy.deepcopy(tree)
                twin = twin_of(node, tree, changed)
                for field, value in replacement.items():
                    setattr(twin, field, value)
                text = [ast.unparse(ast.fix_missing_locations(t)) for t in (node, twin)]
                yield Change(node.lineno, function.name, *text, compile(changed, path, "exec"))  # type: ignore[attr-defined]


def outer_functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for node in tree.body:
        for inner in [node, *getattr(node, "body", [])]:
            if isinstance(inner, ast.FunctionDef) and (inner is node or isinstance(node, ast.ClassDef)):
                yield inner


def nodes_in(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Nodes of a function's body, in order."""
    waiting: list[ast.AST] = list(reversed(function.body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.AnnAssign | ast.arguments):
            continue
        yield node
        waiting.extend(reversed(list(ast.iter_child_nodes(node))))


def replacements(node: ast.AST) -> Iterator[dict[str, object]]:
    """New values of a node's fields, one dict for each change."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for table in (NEGATED, BOUNDARY):
            if type(node.ops[0]) in table:
                yield {"ops": [table[type(node.ops[0])]()]}
    elif isinstance(node, ast.BoolOp):
        yield {"op": JUNCTION[type(node.op)]()}
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in ARITHMETIC:
        yield {"op": ARITHMETIC[type(node.op)]()}
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield {"op": ast.UAdd()}
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield {"value": node.value + 1}


def twin_of(node: ast.AST, tree: ast.Module, other: ast.Module) -> ast.AST:
    """The node at the same place of a copy."""
    return next(b for a, b in zip(ast.walk(tree), ast.walk(other)) if a is node)
