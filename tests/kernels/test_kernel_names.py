"""Kernels by name, and kernels as values: text, equality, hashing, pickling."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import widemargin.kernels
from tests.kernels.brute_force import KERNELS
from widemargin.kernels import (
    KERNEL_NAMES,
    BlockKernel,
    ChiSquared,
    Cosine,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
    make_kernel,
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("linear", Linear()),
        ("poly", Polynomial(degree=4, gamma=0.5, coef0=2.0)),
        ("rbf", Gaussian(gamma=0.5)),
        ("sigmoid", Sigmoid(gamma=0.5, coef0=2.0)),
        ("laplacian", Laplacian(gamma=0.5)),
        ("chi2", ChiSquared(gamma=0.5)),
        ("cosine", Cosine()),
        ("precomputed", Precomputed()),
    ],
)
def test_scikit_learns_names(name, expected):
    assert make_kernel(name, gamma=0.5, degree=4, coef0=2.0) == expected
    assert name in KERNEL_NAMES


def test_kernels_and_functions_pass():
    kernel = Gaussian(0.25)
    assert make_kernel(kernel, gamma=9.0) is kernel
    assert make_kernel(np.dot) == BlockKernel(np.dot)


def test_anything_else_is_refused():
    with pytest.raises(ValueError, match="'gauss'.*linear, poly, rbf"):
        make_kernel("gauss")
    with pytest.raises(TypeError, match="int"):
        make_kernel(3)


@pytest.mark.parametrize("kernel", [*KERNELS, Precomputed()], ids=repr)
def test_kernels_are_values(kernel):
    again = eval(repr(kernel), {name: getattr(widemargin.kernels, name) for name in widemargin.kernels.__all__})
    assert again == kernel
    assert hash(again) == hash(kernel)
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert sum(kernel == other for other in KERNELS) == (type(kernel) is not Precomputed)


def test_numpy_numbers_become_plain_ones():
    assert repr(Gaussian(np.float32(0.5))) == "Gaussian(gamma=0.5)"
    assert repr(Polynomial(np.int64(2), np.float64(1.0))) == "Polynomial(degree=2, gamma=1.0, coef0=0.0)"


def test_kernels_on_strings_wait_until_they_are_asked_for():
    script = (
        "import sys, widemargin; widemargin.SVC; print('widemargin.kernels.strings' in sys.modules);"
        "from widemargin.kernels import Spectrum; print(Spectrum(k=2)(['ACGT'], ['ACGT'])[0, 0])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "3.0"]
    assert "Spectrum" in dir(widemargin.kernels)
    with pytest.raises(AttributeError, match="Spectra"):
        widemargin.kernels.Spectra  # noqa: B018
