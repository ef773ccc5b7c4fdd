"""What scikit-learn's own tests expect from their surroundings, and what is expected of them here."""

import pytest

import widemargin


def pytest_configure(config):
    config.addinivalue_line("markers", "thread_unsafe: scikit-learn's mark of tests that share state between threads")


def pytest_collection_modifyitems(items):
    """Tests on a module's list EXCEPTIONS must fail: one that passes is an error too, so no entry outlives its reason.

    Keys are test or test[parameters].
    """
    for item in items:
        exceptions = getattr(item.module, "EXCEPTIONS", {})
        reason = exceptions.get(item.name) or exceptions.get(getattr(item, "originalname", None))
        if reason:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


@pytest.fixture
def global_random_seed():
    """The seed scikit-learn's tests take when none is asked for."""
    return 42


@pytest.fixture(scope="module")
def patched():
    """`sklearn.svm` means our classes during the test."""
    with widemargin.patch_sklearn():
        yield
