"""Private names of scikit-learn and Numba: used behind one door each, and there in the installed versions."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import numba
import pytest
import sklearn
from sklearn.base import BaseEstimator

import widemargin
from widemargin import _jit, _sklearn
from widemargin._jit.disk_cache import DiskCache

PACKAGE = Path(widemargin.__file__).parent
DOORS = {"sklearn": "_sklearn.py", "numba": "_jit/__init__.py"}
SEEN = "scikit-learn 1.7.0 and 1.9.1, Numba 0.61.0 and 0.68.1"  # where all of these names were found by these tests
INSTALLED = f"in scikit-learn {sklearn.__version__}, Numba {numba.__version__}; it was in {SEEN}"


def private_imports(source: str) -> Iterator[tuple[str, str]]:
    """Library and name of each import of scikit-learn or Numba with a leading underscore anywhere in its path."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            paths = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            paths = [alias.name for alias in node.names]
        else:
            continue
        for path in paths:
            library, *rest = path.split(".")
            if library in DOORS and any(part.startswith("_") and not part.endswith("__") for part in rest):
                yield library, path


PRIVATE = sorted({path for _, path in private_imports(inspect.getsource(_sklearn))})


def test_private_names_are_imported_at_the_door_only():
    found = {
        (path.relative_to(PACKAGE).as_posix(), name)
        for path in PACKAGE.rglob("*.py")
        for library, name in private_imports(path.read_text(encoding="utf-8"))
        if path != PACKAGE / DOORS[library]
    }
    assert found == set(), "import these from widemargin._sklearn, or widemargin._jit"


def test_the_scan_finds_private_names():
    source = (
        "from sklearn.utils import _a, b\nimport numba._c.d\nfrom sklearn._e import f\nfrom sklearn import __version__"
    )
    assert [path for _, path in private_imports(source)] == ["sklearn.utils._a", "numba._c.d", "sklearn._e.f"]


@pytest.mark.parametrize("path", PRIVATE)
def test_what_the_door_to_scikit_learn_imports_is_there(path):
    module, _, name = path.rpartition(".")
    assert hasattr(__import__(module, fromlist=[name]), name), f"no {path} {INSTALLED}"


METHODS = {
    "_html_repr": "estimators/plain_data.py",
    "_validate_params": "io/model_file.py",
    "_get_param_names": "io/sklearn_models.py",
}


@pytest.mark.parametrize("name", METHODS)
def test_inherited_methods_that_are_called_are_there(name):
    assert hasattr(BaseEstimator, name), f"no BaseEstimator.{name}, which {METHODS[name]} calls, {INSTALLED}"


def test_what_callbacks_need_is_there():
    CallbackSupportMixin = pytest.importorskip("sklearn.callback", reason="new in 1.9").CallbackSupportMixin
    assert hasattr(CallbackSupportMixin, "_init_callback_context"), f"no _init_callback_context {INSTALLED}"


@pytest.mark.needs_compiler
def test_what_the_door_to_numba_uses_is_there():
    """Where it is not, nothing is wrong, but every process compiles anew: the disk cache is not used."""

    @_jit.jit
    def one():
        return 1.0

    assert isinstance(one._cache, DiskCache), f"no Dispatcher._cache {INSTALLED}"
    cache_file = getattr(one._cache.open(), "_cache_file", None)
    assert hasattr(cache_file, "_source_stamp"), f"no Cache._cache_file._source_stamp {INSTALLED}"
