"""`import widemargin` costs next to nothing: public names are imported when they are first used."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

import widemargin
from widemargin import estimators, kernels
from widemargin.estimators.registry import Entry


@pytest.mark.parametrize("name", widemargin.__all__)
def test_every_public_name_is_there_and_is_no_module(name):
    found = getattr(widemargin, name)
    assert isinstance(found, str) if name == "__version__" else found.__name__ == name
    assert name in dir(widemargin)
    if not name.startswith("_"):
        assert importlib.util.find_spec(f"widemargin.{name}") is None, "importing the module would hide the name"


def test_modules_are_reached_without_importing_them_first():
    script = "import widemargin; print(widemargin.kernels.Gaussian(2.0), widemargin.margins.__name__)"
    env = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(widemargin.__file__))}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["Gaussian(gamma=2.0)", "margins"]


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'widemargin' has no attribute 'SVM'"):
        _ = widemargin.SVM


@pytest.mark.parametrize("package", [widemargin, estimators], ids=lambda package: package.__name__)
@pytest.mark.parametrize(
    "line, error",
    [("import math; math.no_such_function", AttributeError), ("from math import no_such_function", ImportError)],
)
def test_an_error_inside_a_module_is_shown_as_it_is(package, line, error, tmp_path, monkeypatch):
    """And not as "cannot import name 'SVC'", which is what Python makes of an AttributeError."""
    (tmp_path / "broken.py").write_text(line)
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    if package is widemargin:
        monkeypatch.setitem(package._HOME, "SVC", "broken")
    else:
        monkeypatch.setitem(package.ESTIMATORS, "SVC", Entry("broken"))
    monkeypatch.delitem(vars(package), "SVC", raising=False)
    with pytest.raises(ImportError, match="no_such_function") as caught:
        exec(f"from {package.__name__} import SVC", {})
    assert "cannot import name 'SVC'" not in str(caught.value)
    assert isinstance(caught.value.__cause__ or caught.value, error)
    with pytest.raises(ImportError, match="no_such_function"):
        _ = package.broken if package is widemargin else package.SVC


def test_an_error_inside_the_kernels_on_strings_is_shown_as_it_is(tmp_path, monkeypatch):
    (tmp_path / "strings.py").write_text("import math; math.no_such_function")
    monkeypatch.delitem(sys.modules, "widemargin.kernels.strings", raising=False)
    monkeypatch.setattr(kernels, "__path__", [str(tmp_path)])
    with pytest.raises(ImportError, match="no_such_function") as caught:
        exec("from widemargin.kernels import Spectrum", {})
    assert isinstance(caught.value.__cause__, AttributeError)


def test_dir_shows_public_names_only():
    assert [name for name in dir(widemargin) if name.startswith("_")] == ["__version__"]
    rest = set(dir(widemargin)) - set(widemargin.__all__)
    assert rest == {"calibration", "io", "kernels", "model_selection", "plots", "report", "solvers", "training"}
    assert all(getattr(widemargin, name).__name__ == f"widemargin.{name}" for name in rest)


def test_the_version_to_cite_is_this_one():
    citation = pathlib.Path(__file__).parents[2] / "CITATION.cff"
    assert f"\nversion: {widemargin.__version__}\n" in citation.read_text("utf-8")
