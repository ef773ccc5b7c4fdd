"""Only `_jit` makes compiled functions: a function made elsewhere would be cached without the package's digest."""

import ast
from pathlib import Path

import pytest

import widemargin
from widemargin import SVC
from widemargin.solvers.steps.pairs import curvature_floor

PACKAGE = Path(widemargin.__file__).parent
COMPILERS = {"njit", "jit", "vectorize", "guvectorize", "cfunc", "stencil", "jitclass", "generated_jit"}


def compilers_used(source: str) -> list[str]:
    """Names of Numba's compiling decorators that a source imports or reaches through a module of Numba."""
    tree = ast.parse(source)
    modules = {"numba"}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules.update(alias.asname or "numba" for alias in node.names if alias.name.split(".")[0] == "numba")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "numba":
            found += [alias.name for alias in node.names if alias.name in COMPILERS | {"*"}]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in COMPILERS:
            root = node.value
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id in modules:
                found.append(node.attr)
    return found


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from numba import njit", ["njit"]),
        ("from numba import types, jit as fast", ["jit"]),
        ("from numba.experimental import jitclass", ["jitclass"]),
        ("from numba import *", ["*"]),
        ("import numba\n@numba.njit\ndef f(): pass", ["njit"]),
        ("import numba as nb\n@nb.vectorize\ndef f(): pass", ["vectorize"]),
        ("import numba.np.ufunc\nnumba.guvectorize", ["guvectorize"]),
        ("from numba.extending import intrinsic\nfrom numba import types", []),
        ("from widemargin._jit import jit\n@jit\ndef f(): pass", []),
    ],
)
def test_the_scan_tells_doors_apart(source, expected):
    assert compilers_used(source) == expected


def test_only_the_door_compiles():
    offenders = {
        path.relative_to(PACKAGE).as_posix(): names
        for path in sorted(PACKAGE.rglob("*.py"))
        if (names := compilers_used(path.read_text(encoding="utf-8")))
    }
    assert set(offenders) == {"_jit/__init__.py"}, f"use `from widemargin._jit import jit` in: {offenders}"


@pytest.mark.needs_compiler
def test_functions_without_an_entry_from_python_say_so():
    """A call would end the process; compiled callers, here `solve_pairs` of a whole fit, are served."""
    assert SVC().fit([[0.0], [1.0], [2.0]], [0, 1, 1]).certificate_.holds
    with pytest.raises(TypeError, match="curvature_floor is for compiled functions"):
        curvature_floor(1.0, 4)
    assert curvature_floor.py_func(1.0, 4) > 0
