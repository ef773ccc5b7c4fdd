"""The disk cache of compiled functions: used by the second process, dropped after an edit behind it, and done without.

Each test works on a copy of the package with two modules added: `outer` in one file compiles `inner` of another file
into itself, which is the case that Numba's own check of the source file does not notice.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from numba.core.caching import FunctionCache

import widemargin
from widemargin import _jit
from widemargin._jit import disk_cache

pytestmark = [pytest.mark.needs_compiler, pytest.mark.slow]  # a new process for each step

INNER = "from widemargin._jit import jit\n\n\n@jit\ndef inner(x):\n    return 2.0 * x\n"
OUTER = (
    "from widemargin._jit import jit\nfrom widemargin.inner import inner\n\n\n"
    "@jit\ndef outer(x):\n    return inner(x) + 1.0\n"
)
PROBE = """
from widemargin.outer import outer
value = outer(10.0)
print(value, sum(outer.stats.cache_hits.values()), sum(outer.stats.cache_misses.values()))
"""
NO_LOCATOR = """
from widemargin._jit import cache_folder
cache_folder.is_usable = lambda folder: False  # as where neither package, home nor temporary files can be written
"""

USER_WIDE = """
import numba.core.caching as caching
every = caching.CacheImpl._locator_classes
caching.CacheImpl._locator_classes = [locator for locator in every if "UserWide" in locator.__name__]
"""


@pytest.fixture
def whole_package(tmp_path):
    """A private copy of the package."""
    package = tmp_path / "site" / "widemargin"
    shutil.copytree(Path(widemargin.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    return package


@pytest.fixture
def installation(whole_package):
    """The copy with the two probe modules, and without its public names: the probes need none of the imports."""
    package = whole_package
    (package / "__init__.py").write_text("")
    (package / "inner.py").write_text(INNER)
    (package / "outer.py").write_text(OUTER)
    return package


def run(package, script, **environment):
    """Run a script in a new process that sees only this copy of the package; return what it prints."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    env |= {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(package.parents[1] / "cache"), **environment}
    env["PYTHONDONTWRITEBYTECODE"] = "1"  # Python's own cache misses an edit in the same second that keeps the size
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, cwd=package.parent, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_the_second_process_loads_what_the_first_compiled_until_an_edit_behind_it(installation):
    """One process after the other: each edit is seen beside the run before it."""
    (installation / "factor.py").write_text("FACTOR = 2.0\n")
    with_constant = "from widemargin.factor import FACTOR\n" + INNER.replace("2.0", "FACTOR")
    (installation / "inner.py").write_text(with_constant)
    assert run(installation, PROBE) == ["21.0", "0", "1"]
    append(installation / "estimators" / "svc.py")  # imported by no compiled function
    assert run(installation, PROBE) == ["21.0", "1", "0"]
    (installation / "inner.py").write_text(
        with_constant.replace("* x", "* x + 5.0")
    )  # another file than that of `outer`
    assert run(installation, PROBE) == ["26.0", "0", "1"]
    (installation / "factor.py").write_text("FACTOR = 3.0\n")  # a module without compiled functions
    assert run(installation, PROBE) == ["36.0", "0", "1"]
    for edited in ("problems/dual.py", "_jit/__init__.py"):
        append(installation / edited)
        assert run(installation, PROBE) == ["36.0", "0", "1"], edited
    assert run(installation, NO_LOCATOR + PROBE) == ["36.0", "1", "0"]  # where NUMBA_CACHE_DIR can only be read


def append(path):
    """Add a comment to a module."""
    with open(path, "a") as module:
        module.write("\n# edited\n")


def test_an_installation_without_any_place_for_a_cache_still_works(installation):
    for _ in range(2):
        assert run(installation, NO_LOCATOR + PROBE) == ["21.0", "0", "1"]
    assert not list(installation.parents[1].rglob("*.nbi"))


def test_functions_compiled_by_the_installer_are_used_where_their_folder_cannot_be_written(installation):
    home = str(installation.parents[1] / "home")
    place = {"NUMBA_CACHE_DIR": "", "HOME": home, "XDG_CACHE_HOME": home}
    assert run(installation, PROBE, **place) == ["21.0", "0", "1"]
    assert run(installation, NO_LOCATOR + PROBE, **place) == ["21.0", "1", "0"]
    assert run(installation, USER_WIDE + PROBE, **place) == ["21.0", "1", "0"]  # with a cache folder of the user
    assert not list(Path(home).rglob("*.nbi"))
    append(installation / "problems" / "dual.py")
    assert run(installation, NO_LOCATOR + PROBE, **place) == ["21.0", "0", "1"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_installation_works(installation):
    folders = [path for path in installation.rglob("*") if path.is_dir()] + [installation]
    for folder in folders:
        folder.chmod(0o555)
    try:
        home = str(installation / "nowhere")
        answer = run(installation, PROBE, NUMBA_CACHE_DIR="", HOME=home, XDG_CACHE_HOME=home)
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert answer == ["21.0", "0", "1"]


@pytest.mark.parametrize(
    "cache", [SimpleNamespace(), SimpleNamespace(_cache_file=1)], ids=["no cache file", "no stamp"]
)
def test_vanished_private_attributes_are_noticed(cache):
    assert disk_cache.stamp(cache) is False
    assert disk_cache.cpu_on_disk(cache, (), None) == ""


def test_without_a_stamp_the_disk_cache_is_not_trusted(monkeypatch):
    def double(x):
        return x + x

    stamped = _jit.jit(double)
    assert stamped(21) == 42
    assert isinstance(stamped._cache.opened, FunctionCache)
    monkeypatch.setattr(disk_cache, "stamp", lambda cache: False)
    unstamped = _jit.jit(double)
    assert unstamped(21) == 42
    assert type(unstamped._cache.opened).__name__ == "NullCache"
    assert unstamped._cache.cache_path is None


def test_imports_are_found_where_they_are_statements():
    text = (
        b"import widemargin.one\nfrom widemargin.two import a, b\n    from widemargin import three\n"
        b"    >>> from widemargin import four\n# import widemargin.five\nfrom widemarginal import six\n"
    )
    modules = {name for name in disk_cache.imports_of(text) if not name.endswith(".")}
    assert modules == {
        "widemargin.one", "widemargin.two", "widemargin.two.a", "widemargin.two.b", "widemargin", "widemargin.three",
        "widemarginal", "widemarginal.six",
    }  # fmt: skip


IMPORT_EVERYTHING = """
import gc, importlib, pkgutil, sys
import widemargin
print(*(name for name in ("matplotlib", "dask", "distributed", "rich") if name in sys.modules))
for module in pkgutil.walk_packages(widemargin.__path__, "widemargin."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
from numba.core.dispatcher import Dispatcher
ours = [f for f in gc.get_objects() if isinstance(f, Dispatcher) and f.py_func.__module__.startswith("widemargin")]
print("compiled:", *(f.py_func.__qualname__ for f in ours if f.signatures))
print("functions:", bool(ours))
"""


def test_import_compiles_nothing_and_loads_no_extra(whole_package):
    assert run(whole_package, IMPORT_EVERYTHING) == ["compiled:", "functions:", "True"]
    assert not list(whole_package.parents[1].rglob("*.nbi"))


def test_an_index_that_names_a_class_of_an_earlier_version_is_dropped(installation):
    """Numba reads the classes of all signatures before it looks at the stamp of the index."""
    pair = "from typing import NamedTuple\n\n\nclass Pair(NamedTuple):\n    a: float\n    b: float\n"
    outer = "from widemargin._jit import jit\n\n\n@jit\ndef outer(pair):\n    return pair.a + pair.b\n"
    probe = PROBE.replace("outer(10.0)", "outer(Pair(1.0, 2.0))")
    (installation / "old.py").write_text(pair)
    (installation / "outer.py").write_text(outer)
    assert run(installation, "from widemargin.old import Pair\n" + probe) == ["3.0", "0", "1"]
    (installation / "old.py").rename(installation / "new.py")
    assert run(installation, "from widemargin.new import Pair\n" + probe) == ["3.0", "0", "1"]
    assert run(installation, "from widemargin.new import Pair\n" + probe) == ["3.0", "1", "0"]
