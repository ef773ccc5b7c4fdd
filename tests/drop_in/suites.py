"""scikit-learn's own tests, in all its folders, that use a support vector machine or a search: `make suites`.

`tests/drop_in` borrows the tests of `sklearn.svm` for every run of our suite. This command takes the rest too, from the
installed package, as it is: grid search, calibration, bagging, feature elimination, multiclass, pipelines, ... Of every
test file that imports `sklearn.svm` or `GridSearchCV`, it runs the tests whose code reaches one of the classes we
replace, directly or through a function, fixture or list of the same file. A test that is meant to fail is listed in
`exceptions.py` with the reason, and has to fail.

At the end it lists the tests in which a search trained cells in families, with their number.

The tests of scikit-learn-intelex are not used: they look for its private attributes and module names.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import sklearn

import widemargin
from tests.drop_in.exceptions import mark_exceptions
from widemargin.estimators.registry import SKLEARN_COUNTERPARTS
from widemargin.model_selection import families
from widemargin.sklearn_patch import SEARCHES

IMPORTS = re.compile(r"sklearn\.svm\b|import .*\bsvm\b|^    svm,$|\bGridSearchCV\b", re.MULTILINE)
CELLS = "cells trained in families"
ROOT = Path(__file__).parents[2]
OURS = {*SKLEARN_COUNTERPARTS, *SEARCHES, "svm"}


def test_files() -> list[Path]:
    """Test files of the installed scikit-learn that import its support vector machines or GridSearchCV."""
    files = sorted(Path(sklearn.__file__).parent.rglob("tests/test_*.py"))
    return [file for file in files if IMPORTS.search(file.read_text(encoding="utf-8"))]


def users_of_ours(file: Path) -> set[str]:
    """Names at the top level of a file whose code reaches one of our classes, through other names of the file too."""
    words: dict[str, set[str]] = {}
    text = file.read_text(encoding="utf-8")
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        first = min([statement.lineno, *(node.lineno for node in getattr(statement, "decorator_list", []))])
        used = set(re.findall(r"\w+", "\n".join(text.splitlines()[first - 1 : statement.end_lineno])))
        stored = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and not is_read(node)}
        for name in {statement.name} if hasattr(statement, "name") else stored:
            words.setdefault(name, set()).update(used)
    found: set[str] = set()
    while more := {name for name, used in words.items() if name not in found and used & (OURS | found)}:
        found |= more
    return found


def is_read(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def pytest_configure(config: pytest.Config) -> None:
    """Replace the classes before a test module is imported."""
    config.addinivalue_line("markers", "thread_unsafe: scikit-learn's mark of tests that share state between threads")
    widemargin.patch_sklearn(searches=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests without our classes; those on the list have to fail, so that no entry outlives its reason."""
    users: dict[Path, set[str]] = {}
    kept, left_out = [], []
    for item in items:
        if item.path not in users:
            users[item.path] = users_of_ours(item.path)
        top_level = item.nodeid.split("::")[1].split("[")[0]
        (kept if top_level in users[item.path] else left_out).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)
    mark_exceptions(items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Count the cells that a test trains in families in this process."""
    n_cells, plain = 0, families.train_family

    def counted(*arguments: Any) -> Any:
        nonlocal n_cells
        done = plain(*arguments)
        n_cells += len(done)
        return done

    with mock.patch.object(families, "train_family", counted):
        try:
            return (yield)
        finally:
            if n_cells:
                item.user_properties.append((CELLS, n_cells))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for key in ("passed", "xfailed", "failed") for report in terminalreporter.stats.get(key, [])]
    reached = {report.nodeid: dict(report.user_properties)[CELLS] for report in reports if report.user_properties}
    terminalreporter.write_line(f"{len(reached)} tests reach families of fits, with so many cells:")
    for test, n_cells in sorted(reached.items()):
        terminalreporter.write_line(f"    {n_cells:5} {test.rpartition('/')[2]}")
    passed, listed, failed, errors, skipped = (
        len(terminalreporter.stats.get(key, [])) for key in ("passed", "xfailed", "failed", "error", "skipped")
    )
    terminalreporter.write_line(f"passed {passed}, listed {listed}, failed {failed + errors} (and {skipped} skipped)")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.drop_in.suites", description="further arguments: pytest's")
    parser.add_argument("--only", default="", help="part of the path of the files to run, for example model_selection")
    options, others = parser.parse_known_args()
    files = [str(file) for file in test_files() if options.only in file.as_posix()]
    # without the settings of our own tests: warnings are the business of theirs
    settings = ["-o", "addopts=", "-o", "filterwarnings=ignore", "-p", "no:cacheprovider", "--import-mode=importlib"]
    settings += ["-c", str(ROOT / "pyproject.toml")]  # else that of the folder in which scikit-learn is installed
    if not files:
        print("no test files found: this installation of scikit-learn comes without its tests, or --only fits none")
        return 1
    return pytest.main(["-q", "-p", "tests.drop_in.suites", *settings, *others, *files])


if __name__ == "__main__":
    sys.exit(main())
