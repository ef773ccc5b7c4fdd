"""scikit-learn's own tests of its support vector machines, as shipped in its wheel, with our classes in their place."""

import importlib.util

import pytest

import widemargin

PACKAGE = "sklearn.svm.tests"


def borrow(name):
    """The tests of one module of scikit-learn by name, and its path, loaded while `sklearn.svm` means our classes."""
    spec = importlib.util.find_spec(f"{PACKAGE}.{name}")
    if spec is None:
        pytest.skip("this installation of scikit-learn comes without its tests", allow_module_level=True)
    module = importlib.util.module_from_spec(spec)
    with widemargin.patch_sklearn():
        spec.loader.exec_module(module)
    tests = {key: value for key, value in vars(module).items() if key.startswith("test_") and callable(value)}
    for test in tests.values():
        test.pytestmark = [_with_list(mark) for mark in getattr(test, "pytestmark", [])]
    return tests | {"BORROWED": module.__file__}


def _with_list(mark):
    """A mark whose parameters are a list: some of theirs are iterators, which newer versions of pytest refuse."""
    if mark.name != "parametrize" or isinstance(mark.args[1], (list, tuple)):
        return mark
    return pytest.mark.parametrize(mark.args[0], list(mark.args[1]), **mark.kwargs).mark
