"""How often the estimators compile, and that fits in several Python threads at once do not disturb each other."""

import gc
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from numba.core.dispatcher import Dispatcher
from sklearn.datasets import make_classification

from widemargin import SVC

pytestmark = pytest.mark.slow

SMALL, LARGE = 300, 2500  # samples: one problem for the full kernel matrix, one for rows on demand


def compiled() -> set[tuple[str, str]]:
    """All compiled functions of the package with their signatures."""
    return {
        (f"{function.py_func.__module__}.{function.py_func.__qualname__}", str(signature))
        for function in gc.get_objects()
        if issubclass(type(function), Dispatcher)  # isinstance would ask dead proxies that other tests left
        and function.py_func.__module__.startswith("widemargin")
        for signature in function.signatures
    }


def use(X, y):
    """Fit and predict many rows and a few: each has its own path."""
    model = SVC().fit(X, y)
    model.predict(X)
    model.predict(X[:3])


def read_only(X):
    X = X.copy(order="K")
    X.flags.writeable = False
    return X


LAYOUTS = {
    "read-only": read_only,
    "Fortran order": np.asfortranarray,
    "read-only, Fortran order": lambda X: read_only(np.asfortranarray(X)),
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "integers": lambda X: (10 * X).astype(np.int64),
    "float32": lambda X: X.astype(np.float32),
    "float32, Fortran order": lambda X: np.asfortranarray(X, dtype=np.float32),
    "float32, read-only": lambda X: read_only(X.astype(np.float32)),
}


@pytest.mark.needs_compiler
@pytest.mark.parametrize("n_features", [5, 60], ids=["few features", "many features"])
def test_layout_and_dtype_of_the_input_compile_nothing_more(n_features):
    sets = [make_classification(n, n_features, n_informative=5, n_redundant=0, random_state=0) for n in (SMALL, LARGE)]
    for X, y in sets:
        use(X, y)
    before = compiled()
    assert len(before) > 5
    for name, change in LAYOUTS.items():
        for X, y in sets:
            use(change(X), y)
        assert compiled() == before, f"{name} input was compiled for anew"


@pytest.mark.needs_compiler
def test_sparse_indices_of_64_bits_compile_nothing_more():
    sets = []
    for n in (SMALL, LARGE):
        X = sp.random(n, 200, density=0.05, format="csr", random_state=0)
        sets.append((X, np.where(np.asarray(X.sum(axis=1)).ravel() > 5.0, 1, 0)))
    for X, y in sets:
        use(X, y)
    before = compiled()
    for X, y in sets:
        wide = X.copy()
        wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
        use(wide, y)
    assert compiled() == before


def test_fits_in_several_threads_at_once_are_those_of_one_thread():
    problems = [make_classification(900, 20, random_state=seed) for seed in range(6)]
    alone = [SVC(C=10.0).fit(X, y) for X, y in problems]
    together: list = [None] * len(problems)
    start = threading.Barrier(len(problems))

    def fit(number):
        start.wait()
        together[number] = SVC(C=10.0).fit(*problems[number])

    threads = [threading.Thread(target=fit, args=(number,)) for number in range(len(problems))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, other, (X, _) in zip(alone, together, problems):
        assert other.certificate_.holds
        np.testing.assert_array_equal(other.support_, one.support_)
        np.testing.assert_allclose(other.decision_function(X), one.decision_function(X), rtol=1e-9, atol=1e-9)
