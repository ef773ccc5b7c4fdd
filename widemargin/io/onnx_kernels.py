"""Kernels as ONNX graphs in float64: from samples X and support vectors Z to the matrix k(X_i, Z_j).

The operator set for machine learning has SVMClassifier and SVMRegressor, but both compute in float32 and know four
kernels. Plain operators on doubles give our numbers up to rounding, for every kernel of the package and its sums and
products. |x - z|^2 is taken as |x|^2 - 2 x'z + |z|^2 about the mean of the support vectors, which keeps the terms, and
with them the cancellation, small.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin import kernels
from widemargin.kernels import Kernel

Matrix = NDArray[np.float64]


class Graph:
    """Nodes, constants and outputs of an ONNX graph under construction; every tensor gets a name of its own."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.outputs: list[Any] = []

    def add(self, operation: str, *inputs: Any, output: str | None = None, **attributes: Any) -> Tensor:
        """The output of a new node; inputs are tensors, or fixed numbers and arrays."""
        names = [given.name if isinstance(given, Tensor) else self._constant(given) for given in inputs]
        output = output or f"{operation.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operation, names, [output], **attributes))
        return Tensor(self, output)

    def add_output(self, name: str, values: Tensor, columns: int = 0, kind: int | None = None) -> None:
        """Values that the graph gives to its user, a vector where there are no columns."""
        self.add("Identity", values, output=name)
        kind = self.onnx.TensorProto.DOUBLE if kind is None else kind
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, kind, ["n", columns] if columns else ["n"]))

    def _constant(self, values: Any) -> str:
        """Name of a tensor with fixed values; strings, whole numbers or doubles."""
        array = np.asarray(values)
        name = f"constant_{len(self.constants)}"
        array = array.astype(object) if array.dtype.kind == "U" else np.ascontiguousarray(array)
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name


def _node(operation: str) -> Callable[..., Tensor]:
    """Method of a tensor that adds a node, with the tensor and the other operands as its inputs."""
    return lambda tensor, *others: tensor.graph.add(operation, tensor, *others)


@dataclass(frozen=True)
class Tensor:
    """A tensor of a graph by its name; arithmetic with others, and with numbers and arrays, adds nodes to the graph."""

    graph: Graph
    name: str

    __add__ = _node("Add")
    __sub__ = _node("Sub")
    __mul__ = _node("Mul")
    __truediv__ = _node("Div")
    __matmul__ = _node("MatMul")
    __pow__ = _node("Pow")
    __abs__ = _node("Abs")
    exp = _node("Exp")

    def sum(self, keepdims: bool = False) -> Tensor:
        """Sums over the last axis."""
        return self.graph.add("ReduceSum", self, np.array([-1]), keepdims=int(keepdims))

    def or_one(self) -> Tensor:
        """The values, with 1 in place of 0, to divide by."""
        return self.graph.add("Where", self.graph.add("Equal", self, 0.0), 1.0, self)


def kernel_matrix(kernel: Kernel, X: Tensor, Z: Matrix) -> Tensor:
    """k(X_i, Z_j) for constant Z, shape (n_samples, n_SV).

    Raises
    ------
    ValueError
        The kernel is a function of the user's, or of samples that are no vectors.
    """
    match kernel:
        case kernels.Linear():
            return X @ Z.T
        case kernels.Polynomial(degree=degree, gamma=gamma, coef0=coef0):
            return (X @ (gamma * Z).T + float(coef0)) ** float(degree)
        case kernels.Sigmoid(gamma=gamma, coef0=coef0):
            return X.graph.add("Tanh", X @ (gamma * Z).T + float(coef0))
        case kernels.Cosine():
            return _cosine(X, Z)
        case kernels.Gaussian(gamma=gamma):
            return (_squared_distances(X, Z) * -float(gamma)).exp()
        case kernels.Laplacian(gamma=gamma):
            return (abs(_beside_all(X) - Z).sum() * -float(gamma)).exp()
        case kernels.ChiSquared(gamma=gamma):
            return (_chi_squared(X, Z) * -float(gamma)).exp()
        case kernels.Constant(value=value):
            return X @ Z.T * 0.0 + float(value)
        case kernels.Scaled():
            return kernel_matrix(kernel.kernel, X, Z) * float(kernel.factor)
        case kernels.Sum() | kernels.Product():
            join = operator.add if isinstance(kernel, kernels.Sum) else operator.mul
            return functools.reduce(join, [kernel_matrix(part, X, Z) for part in kernel.parts])
    raise ValueError(
        f"{kernel!r} has no formula in ONNX; kernels of vectors have one (Gaussian, Laplacian, Polynomial, ...), and "
        "sums and products of them."
    )


def _squared_distances(X: Tensor, Z: Matrix) -> Tensor:
    """|x - z|^2, never below zero."""
    centre = Z.mean(axis=0)
    x, z = X - centre, Z - centre
    distance = (x * x).sum(keepdims=True) + (z**2).sum(axis=1) + x @ (-2.0 * z).T
    return X.graph.add("Max", distance, 0.0)


def _beside_all(X: Tensor) -> Tensor:
    """x with an axis for the support vectors: x - z is then of shape (n_samples, n_SV, n_features)."""
    return X.graph.add("Unsqueeze", X, np.array([1]))


def _chi_squared(X: Tensor, Z: Matrix) -> Tensor:
    """sum (x - z)^2 / (x + z), a feature that is 0 in both counting nothing."""
    x = _beside_all(X)
    difference = x - Z
    return (difference * difference / (x + Z).or_one()).sum()


def _cosine(X: Tensor, Z: Matrix) -> Tensor:
    """x'z / (|x| |z|), and 0 where a vector is 0."""
    lengths = np.linalg.norm(Z, axis=1, keepdims=True)
    unit = np.divide(Z, lengths, out=np.zeros_like(Z), where=lengths > 0)
    return X @ unit.T / ((X * X).sum(keepdims=True) ** 0.5).or_one()
