"""Translation of kernels, ours or scikit-learn's, to covariances with free parameters, and back.

ours            every gamma of an exponential kernel, every factor and every constant is free; other numbers stay
scikit-learn's  RBF with one length scale, ConstantKernel, WhiteKernel, DotProduct, Matern with nu=inf, their sums and
                products become the same formulas on our kernels; anything else (several length scales, Matern, ...)
                keeps its own functions and is called in blocks
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels import BlockKernel, ChiSquared, Constant, Gaussian, Kernel, Laplacian, Linear, Product, Sum
from widemargin.kernels.algebra import Scaled
from widemargin.linalg.arrays import Vector
from widemargin.training.gaussian_process.covariance import Exponential, Join, Level, Node, Parameter, Still, White

BOUNDS = (float(np.log(1e-5)), float(np.log(1e5)))  # of the parameters of our kernels, as in scikit-learn


class Model:
    """A covariance, its theta, and the user's kernel object.

    Attributes
    ----------
    node : Node or None
        The tree; None where the kernel is one of scikit-learn's that must be called.
    """

    def __init__(self, given: Any, noise_variance: float | None = None) -> None:
        self.given, self.noise_variance = given, noise_variance
        self.theirs = not isinstance(given, Kernel)
        self.node = _read_theirs(given) if self.theirs else _read_ours(given)
        self.called = given
        if noise_variance is None:
            return
        if self.node is not None:
            self.node = Join(self.node, White(Parameter(float(np.log(noise_variance)), BOUNDS)), False)
        else:
            from sklearn.gaussian_process.kernels import WhiteKernel

            self.called = given + WhiteKernel(noise_variance)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the user's arguments from a pickle, also of version 0.1.0, and compute all other attributes."""
        extra = state.get("extra")
        self.__init__(state["given"], state.get("noise_variance", extra and float(np.exp(extra.value))))  # type: ignore[misc]

    @property
    def start(self) -> Vector:
        """Current values of all free parameters; the separate noise variance is last."""
        if self.node is None:
            return np.array(self.called.theta, float)
        return np.array([p.value for p in self.node.parameters() if p.bounds is not None])

    @property
    def bounds(self) -> NDArray[np.float64]:
        free = self.called.bounds if self.node is None else [p.bounds for p in self.node.parameters() if p.bounds]
        return np.array(free, float).reshape(-1, 2)

    def every(self, theta: Vector) -> Vector:
        """Free and fixed parameters of the tree, in its order."""
        assert self.node is not None
        free = iter(theta)
        return np.array([next(free) if p.bounds is not None else p.value for p in self.node.parameters()])

    def kernel(self, theta: Vector) -> Kernel:
        """The kernel between different samples."""
        if self.node is None:
            return BlockKernel(_Called(self.called.clone_with_theta(theta)))
        kernel = self.node.kernel(self.every(theta))
        return Constant(0.0) if kernel is None else kernel

    def noise(self, theta: Vector, X: Any) -> Vector | float:
        """Variance added on the diagonal."""
        if self.node is not None:
            return self.node.white(self.every(theta), X)
        kernel = self.kernel(theta)
        whole = self.called.clone_with_theta(theta).diag(X)
        return np.maximum(whole - kernel.diag(kernel.prepare(X)), 0.0)

    def rebuilt(self, theta: Vector) -> Any:
        """Return the user's kernel with new parameters."""
        return self.given.clone_with_theta(theta[: len(self.given.theta)]) if self.theirs else self.kernel(theta)


class _Called:
    """A kernel of scikit-learn as a function of two sets of samples; a class, so that models can be pickled."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def __call__(self, A: Any, B: Any) -> Any:
        return self.kernel(A, B)


def _read_ours(kernel: Kernel) -> Node:
    """Return the tree of one of our kernels."""
    if isinstance(kernel, Gaussian | Laplacian | ChiSquared) and kernel.gamma > 0:
        return Exponential(Parameter(float(np.log(kernel.gamma)), BOUNDS), kind=type(kernel))
    if isinstance(kernel, Constant) and kernel.value > 0:
        return Level(Parameter(float(np.log(kernel.value)), BOUNDS))
    if isinstance(kernel, Scaled) and kernel.factor > 0:
        return Join(Level(Parameter(float(np.log(kernel.factor)), BOUNDS)), _read_ours(kernel.kernel), True)
    if isinstance(kernel, Sum | Product):
        node = _read_ours(kernel.parts[0])
        for part in kernel.parts[1:]:
            node = Join(node, _read_ours(part), isinstance(kernel, Product))
        return node
    return Still(kernel)


def _read_theirs(kernel: Any) -> Node | None:
    """Return the tree of a kernel of scikit-learn, or None if some part has no counterpart."""
    import sklearn.gaussian_process.kernels as theirs

    if type(kernel) in (theirs.Sum, theirs.Product):
        parts = _read_theirs(kernel.k1), _read_theirs(kernel.k2)
        if parts[0] is None or parts[1] is None:
            return None
        return Join(parts[0], parts[1], type(kernel) is theirs.Product)
    if type(kernel) is theirs.RBF or (type(kernel) is theirs.Matern and kernel.nu == np.inf):
        if kernel.anisotropic:
            return None
        return Exponential(_parameter(kernel, kernel.length_scale), power=-2.0, base=0.5, kind=Gaussian)
    if type(kernel) is theirs.ConstantKernel:
        return Level(_parameter(kernel, kernel.constant_value)) if kernel.constant_value > 0 else None
    if type(kernel) is theirs.WhiteKernel:
        return White(_parameter(kernel, kernel.noise_level)) if kernel.noise_level > 0 else None
    if type(kernel) is theirs.DotProduct and kernel.sigma_0 > 0:
        return Join(Level(_parameter(kernel, kernel.sigma_0), power=2.0), Still(Linear()), False)
    return None


def _parameter(kernel: Any, value: Any) -> Parameter:
    """Return the parameter of a leaf of scikit-learn's kernel."""
    free = not kernel.hyperparameters[0].fixed
    return Parameter(float(np.log(np.ravel(value)[0])), tuple(kernel.bounds[0]) if free else None)
