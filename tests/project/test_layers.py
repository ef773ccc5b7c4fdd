"""The layers of the package: a module imports from its own layer or from lower ones, and folders form no circle.

Imports inside functions count; imports for type checkers only do not.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import widemargin

ROOT = Path(widemargin.__file__).parent
LAYERS = (
    ("_jit", "_lazy", "_sklearn", "costs", "storage"),
    ("parallel",),
    ("linalg",),
    ("monitor",),
    ("problems", "kernels"),
    ("gram",),
    ("solvers",),
    ("certificate",),
    ("training", "calibration", "models"),
    ("estimators", "_moved"),
    ("model_selection",),
    ("inspection",),
    ("", "dask", "io", "model_selection", "playground", "plots", "report", "sklearn_patch"),
    ("cli", "__main__"),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def modules() -> dict[str, ast.Module]:
    """Module name without the package's -> its source."""
    found = {}
    for path in ROOT.rglob("*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found[name.removesuffix("__init__").removesuffix(".")] = ast.parse(path.read_text())
    return found


MODULES = modules()


def imports_of(tree: ast.Module) -> Iterator[str]:
    """Modules of the package that a module imports at run time."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            node.body = [ast.Pass()]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "widemargin":
            yield from (nearest(f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (nearest(alias.name) for alias in node.names if alias.name.split(".")[0] == "widemargin")


def nearest(dotted: str) -> str:
    """The module that a dotted name is, or is defined in."""
    name = dotted.removeprefix("widemargin").removeprefix(".")
    while name not in MODULES:
        name = name.rpartition(".")[0]
    return name


EDGES = {name: set(imports_of(tree)) - {name} for name, tree in MODULES.items()}


def layer(name: str) -> str:
    return name.split(".")[0]


@pytest.mark.parametrize("name", sorted({layer(name) for name in MODULES}))
def test_every_folder_has_a_layer(name):
    assert name in RANK


def test_no_import_points_upwards():
    upward = {
        (name, other) for name, others in EDGES.items() for other in others if RANK[layer(other)] > RANK[layer(name)]
    }
    # every module may ask the package itself for its version or a public name
    upward = {edge for edge in upward if edge[1] != ""}
    assert upward == set()


@pytest.mark.parametrize(
    ("folder", "other"),
    [("solvers", "kernels"), ("gram", "problems"), ("certificate", "solvers"), ("kernels", "problems")],
)
def test_folders_that_know_nothing_of_each_other(folder, other):
    """Solvers are handed what they need of kernels, a Gram knows no dual, and a certificate no solver."""
    edges = {(a, b) for a, others in EDGES.items() for b in others if layer(a) == folder and layer(b) == other}
    assert edges == set()


def test_folders_of_one_layer_do_not_import_each_other_in_a_circle():
    below: dict[str, set[str]] = {}
    for name, others in EDGES.items():
        allowed = {layer(other) for other in others if other != ""}
        below.setdefault(layer(name), set()).update(allowed - {layer(name)})
    while below:
        lowest = {name for name, others in below.items() if not others & below.keys()}
        assert lowest, f"a circle among {sorted(below)}"
        below = {name: others for name, others in below.items() if name not in lowest}


def test_one_module_imports_distributed():
    found = {
        name
        for name, tree in MODULES.items()
        for node in ast.walk(tree)
        if (isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "distributed" for alias in node.names))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "distributed")
    }
    assert found == {"dask.cluster"}
