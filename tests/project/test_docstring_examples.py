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


PUBLIC = [name for name in widemargin.__all__ if isinstance(getattr(widemargin, name), type)]


@pytest.mark.parametrize("name", [name for name in PUBLIC if hasattr(getattr(widemargin, name), "fit")])
def test_every_estimator_has_an_example(name):
    assert ">>>" in getattr(widemargin, name).__doc__
