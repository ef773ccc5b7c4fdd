"""`import widemargin` costs next to nothing: public names are imported when they are first used."""

import importlib.util
import os
import subprocess
import sys

import pytest

import widemargin


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
