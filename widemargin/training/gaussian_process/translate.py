"""From kernels, ours or scikit-learn's, to covariances with free parameters, and back.

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
from widemargin.training.gaussian_process.covariance import Exponential, Join, Level, Node, Parameter, Still, White

BOUNDS = (float(np.log(1e-5)), float(np.log(1e5)))  # of the parameters of our kernels, as in scikit-learn

Vector = NDArray[np.float64]


class Model:
    """A covariance, its theta, and the kernel object that the user knows.

    Attributes
    ----------
    node : Node or None
        The tree; None where the kernel is one of scikit-learn's that must be called.
    """

    def __init__(self, given: Any, noise_variance: float | None = None) -> None:
        self.given = given
        self.theirs = not isinstance(given, Kernel)
        self.node = _read_theirs(given) if self.theirs else _read_ours(given)
        self.extra = None if noise_variance is None else Parameter(float(np.log(noise_variance)), BOUNDS)

    # ---- parameters

    @property
    def start(self) -> Vector:
        """All free parameters where they stand; the separate noise variance comes last."""
        own = self._own_theta()
        return own if self.extra is None else np.append(own, self.extra.value)

    @property
    def bounds(self) -> NDArray[np.float64]:
        if self.node is None:
            own = np.asarray(self.given.bounds, float).reshape(-1, 2)
        else:
            own = np.array([p.bounds for p in self.node.parameters() if p.bounds], float).reshape(-1, 2)
        return own if self.extra is None else np.vstack([own, BOUNDS])

    def _own_theta(self) -> Vector:
        if self.node is None:
            return np.array(self.given.theta, float)
        return np.array([p.value for p in self.node.parameters() if p.bounds is not None])

    def every(self, theta: Vector) -> Vector:
        """Free and fixed parameters of the tree, in its order."""
        assert self.node is not None
        free = iter(self._kernel_part(theta))
        return np.array([next(free) if p.bounds is not None else p.value for p in self.node.parameters()])

    def _kernel_part(self, theta: Vector) -> Vector:
        return theta if self.extra is None else theta[:-1]

    # ---- at a given theta

    def kernel(self, theta: Vector) -> Kernel:
        """The kernel between different samples."""
        if self.node is None:
            return BlockKernel(_Called(self.given.clone_with_theta(self._kernel_part(theta))))
        kernel = self.node.kernel(self.every(theta))
        return Constant(0.0) if kernel is None else kernel

    def noise(self, theta: Vector, X: Any) -> Vector | float:
        """Variance added where a sample meets itself."""
        extra = 0.0 if self.extra is None else float(np.exp(theta[-1]))
        if self.node is not None:
            return self.node.white(self.every(theta), X) + extra
        kernel = self.kernel(theta)
        whole = self.given.clone_with_theta(self._kernel_part(theta)).diag(X)
        return np.maximum(whole - kernel.diag(kernel.prepare(X)), 0.0) + extra

    def rebuilt(self, theta: Vector) -> Any:
        """The user's kernel with its new numbers."""
        if self.theirs:
            return self.given.clone_with_theta(self._kernel_part(theta))
        return self.kernel(theta)


class _Called:
    """scikit-learn's kernel as a function of two sets of samples; a class, so that fitted models can be pickled."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def __call__(self, A: Any, B: Any) -> Any:
        return self.kernel(A, B)


def _read_ours(kernel: Kernel) -> Node:
    """The tree of one of our kernels."""
    if isinstance(kernel, Gaussian | Laplacian | ChiSquared) and kernel.gamma > 0:
        return Exponential(type(kernel), Parameter(float(np.log(kernel.gamma)), BOUNDS))
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
    """The tree of one of scikit-learn's kernels; None where some part has no counterpart."""
    import sklearn.gaussian_process.kernels as theirs

    if type(kernel) in (theirs.Sum, theirs.Product):
        parts = _read_theirs(kernel.k1), _read_theirs(kernel.k2)
        if parts[0] is None or parts[1] is None:
            return None
        return Join(parts[0], parts[1], type(kernel) is theirs.Product)
    if type(kernel) is theirs.RBF or (type(kernel) is theirs.Matern and kernel.nu == np.inf):
        if kernel.anisotropic:
            return None
        return Exponential(Gaussian, _parameter(kernel, kernel.length_scale), power=-2.0, base=0.5)
    if type(kernel) is theirs.ConstantKernel:
        return Level(_parameter(kernel, kernel.constant_value)) if kernel.constant_value > 0 else None
    if type(kernel) is theirs.WhiteKernel:
        return White(_parameter(kernel, kernel.noise_level)) if kernel.noise_level > 0 else None
    if type(kernel) is theirs.DotProduct and kernel.sigma_0 > 0:
        return Join(Level(_parameter(kernel, kernel.sigma_0), power=2.0), Still(Linear()), False)
    return None


def _parameter(kernel: Any, value: Any) -> Parameter:
    """The one parameter of a leaf of scikit-learn's."""
    free = not kernel.hyperparameters[0].fixed
    return Parameter(float(np.log(np.ravel(value)[0])), tuple(kernel.bounds[0]) if free else None)
