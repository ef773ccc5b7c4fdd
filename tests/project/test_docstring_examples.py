"""Every example in a docstring runs and gives what it says."""

import doctest
import importlib
import pkgutil

import matplotlib
import pytest

import widemargin

pytestmark = pytest.mark.needs_compiler  # an example that is cut off half-way would count as wrong

matplotlib.use("Agg")

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(widemargin.__path__, "widemargin.")
    if not module.name.endswith("__main__")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    said: list[str] = []
    for example in finder.find(module, name):
        runner.run(example, out=said.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)


#: Public names without an example of their own: errors, and classes to be inherited from or made by others.
WITHOUT_EXAMPLE = {
    "FeatureKernel",
    "FileError",
    "RepresentationMismatch",
    "Samples",
    "Solution",
    "Table",
    "solve_blocks",
}


def test_every_public_name_has_an_example():
    modules = ("widemargin", *(f"widemargin.{name}" for name in widemargin._PUBLIC_MODULES))
    without = set()
    for module in map(importlib.import_module, (*modules, "widemargin.solvers.reference")):
        for name in getattr(module, "__all__", ()):
            found = getattr(module, name)
            if callable(found) and ">>>" not in (found.__doc__ or ""):
                without.add(name)
    assert without == WITHOUT_EXAMPLE
