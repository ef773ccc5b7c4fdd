"""Kernels as ONNX graphs in float64: from samples X and support vectors Z to the matrix k(X_i, Z_j).

The operator set for machine learning has SVMClassifier and SVMRegressor, but both compute in float32 and know four
kernels. Plain operators on doubles give our numbers up to rounding, for every kernel of the package and its sums and
products. |x - z|^2 is taken as |x|^2 - 2 x'z + |z|^2 about the mean of the support vectors, which keeps the terms, and
with them the cancellation, small.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels import (
    ChiSquared,
    Constant,
    Cosine,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Product,
    Scaled,
    Sigmoid,
    Sum,
)

Tensor = str  # the name of a tensor in the graph


class Graph:
    """Nodes and constants of an ONNX graph under construction; every tensor gets a name of its own."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._counter = 0

    def constant(self, values: Any) -> Tensor:
        """A tensor with fixed values; strings, whole numbers or doubles."""
        array = np.asarray(values)
        name = self._new_name("constant")
        if array.dtype.kind in "UO":
            texts = [str(text).encode() for text in array.ravel()]
            tensor = self.onnx.helper.make_tensor(name, self.onnx.TensorProto.STRING, array.shape, texts)
        else:
            tensor = self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name)
        self.constants.append(tensor)
        return name

    def add(self, operator: str, *inputs: Tensor, output: Tensor | None = None, **attributes: Any) -> Tensor:
        """A node; returns the name of its output."""
        output = output or self._new_name(operator.lower())
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def _new_name(self, kind: str) -> str:
        self._counter += 1
        return f"{kind}_{self._counter}"


def kernel_matrix(graph: Graph, kernel: Kernel, X: Tensor, Z: NDArray[np.float64]) -> Tensor:
    """k(X_i, Z_j) for constant Z, shape (n_samples, n_SV).

    Raises
    ------
    ValueError
        The kernel is a function of the user's, or of samples that are no vectors.
    """
    match kernel:
        case Linear():
            return _products(graph, X, Z)
        case Polynomial(degree=degree, gamma=gamma, coef0=coef0):
            base = _affine(graph, _products(graph, X, gamma * Z), coef0)
            return graph.add("Pow", base, graph.constant(float(degree)))
        case Sigmoid(gamma=gamma, coef0=coef0):
            return graph.add("Tanh", _affine(graph, _products(graph, X, gamma * Z), coef0))
        case Cosine():
            return _cosine(graph, X, Z)
        case Gaussian(gamma=gamma):
            return _decay(graph, _squared_distances(graph, X, Z), gamma)
        case Laplacian(gamma=gamma):
            difference, _ = _differences(graph, X, Z)
            return _decay(graph, _sum_last(graph, graph.add("Abs", difference)), gamma)
        case ChiSquared(gamma=gamma):
            return _decay(graph, _chi_squared(graph, X, Z), gamma)
        case Constant(value=value):
            zero = graph.add("Mul", _products(graph, X, Z), graph.constant(0.0))
            return graph.add("Add", zero, graph.constant(float(value)))
        case Scaled():
            return graph.add("Mul", kernel_matrix(graph, kernel.kernel, X, Z), graph.constant(float(kernel.factor)))
        case Sum() | Product():
            total, *rest = (kernel_matrix(graph, part, X, Z) for part in kernel.parts)
            for part in rest:
                total = graph.add("Add" if isinstance(kernel, Sum) else "Mul", total, part)
            return total
        case Precomputed():
            return X
    raise ValueError(
        f"{kernel!r} has no formula in ONNX; kernels of vectors have one (Gaussian, Laplacian, Polynomial, ...), and "
        "sums and products of them."
    )


def _products(graph: Graph, X: Tensor, Z: NDArray[np.float64]) -> Tensor:
    return graph.add("MatMul", X, graph.constant(np.ascontiguousarray(Z.T)))


def _affine(graph: Graph, values: Tensor, offset: float) -> Tensor:
    return graph.add("Add", values, graph.constant(float(offset)))


def _decay(graph: Graph, distance: Tensor, gamma: float) -> Tensor:
    return graph.add("Exp", graph.add("Mul", distance, graph.constant(-float(gamma))))


def _sum_last(graph: Graph, values: Tensor, keepdims: int = 0) -> Tensor:
    return graph.add("ReduceSum", values, graph.constant(np.array([-1], np.int64)), keepdims=keepdims)


def _squared_distances(graph: Graph, X: Tensor, Z: NDArray[np.float64]) -> Tensor:
    """|x - z|^2, never below zero."""
    centre = Z.mean(axis=0)
    moved = graph.add("Sub", X, graph.constant(centre))
    own = _sum_last(graph, graph.add("Mul", moved, moved), keepdims=1)
    other = graph.constant(((Z - centre) ** 2).sum(axis=1))
    distance = graph.add("Add", graph.add("Add", own, other), _products(graph, moved, -2.0 * (Z - centre)))
    return graph.add("Max", distance, graph.constant(0.0))


def _differences(graph: Graph, X: Tensor, Z: NDArray[np.float64]) -> tuple[Tensor, Tensor]:
    """x - z feature by feature, shape (n_samples, n_SV, n_features), and x with an axis for the support vectors."""
    column = graph.add("Unsqueeze", X, graph.constant(np.array([1], np.int64)))
    return graph.add("Sub", column, graph.constant(Z)), column


def _chi_squared(graph: Graph, X: Tensor, Z: NDArray[np.float64]) -> Tensor:
    """sum (x - z)^2 / (x + z), a feature that is 0 in both counting nothing."""
    difference, column = _differences(graph, X, Z)
    both = graph.add("Add", column, graph.constant(Z))
    safe = graph.add("Where", graph.add("Equal", both, graph.constant(0.0)), graph.constant(1.0), both)
    return _sum_last(graph, graph.add("Div", graph.add("Mul", difference, difference), safe))


def _cosine(graph: Graph, X: Tensor, Z: NDArray[np.float64]) -> Tensor:
    """x'z / (|x| |z|), and 0 where a vector is 0."""
    lengths = np.linalg.norm(Z, axis=1, keepdims=True)
    unit = np.divide(Z, lengths, out=np.zeros_like(Z), where=lengths > 0)
    own = graph.add("Sqrt", _sum_last(graph, graph.add("Mul", X, X), keepdims=1))
    safe = graph.add("Where", graph.add("Equal", own, graph.constant(0.0)), graph.constant(1.0), own)
    return graph.add("Div", _products(graph, X, unit), safe)
