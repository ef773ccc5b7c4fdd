"""What scikit-learn's own tests expect from their surroundings, and what is expected of them here."""

import pytest

import widemargin
from tests.drop_in.exceptions import mark_exceptions


def pytest_configure(config):
    config.addinivalue_line("markers", "thread_unsafe: scikit-learn's mark of tests that share state between threads")


def pytest_collection_modifyitems(items):
    mark_exceptions([item for item in items if item.path.parent.name == "drop_in"])


@pytest.fixture
def global_random_seed():
    """The seed scikit-learn's tests take when none is asked for."""
    return 42


@pytest.fixture(scope="module")
def patched():
    """`sklearn.svm` means our classes during the test."""
    with widemargin.patch_sklearn():
        yield
