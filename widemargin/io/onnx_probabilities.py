"""Probabilities of a classifier as ONNX operators, with the formulas of calibration/sigmoid.py.

ONNX has no operator that solves a linear system, so that the system of coupled pairs is brought into the form

    (Q + 1 1') x = 1,    p = x / sum x          (from Q p + b 1 = 0 and sum p = 1 follows (Q + 1 1') p = (1 - b) 1)

and solved by Gauss-Jordan elimination, written out with a few operators per class. The matrix is positive definite, so
no pivoting is needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from widemargin.calibration.sigmoid import AHEAD, SMALLEST_PROBABILITY
from widemargin.io.onnx_kernels import Tensor


def probabilities_of(model: Any, values: Tensor, number: Tensor) -> Tensor:
    """`predict_proba`, shape (n, n_classes), from the values of all two-class models and the predicted numbers."""
    graph, n_classes = values.graph, len(model.classes_)
    slope, offset = np.asarray(model.probA_), np.asarray(model.probB_)
    if n_classes == 2:  # the sigmoid belongs to the negative of the decision value, and to the first class
        first = graph.add("Sigmoid", values * slope - offset)
        found = graph.add("Concat", first, first * -1.0 + 1.0, axis=1)
    else:
        positive = graph.add("Sigmoid", values * -slope - offset)
        found = _normalised(positive if model.multi_class == "ovr" else _coupled(positive, n_classes), n_classes)
    return _agreeing_with(number, found, n_classes)


def _normalised(values: Tensor, n_classes: int) -> Tensor:
    """Divide by the sum; equal probabilities where it is zero."""
    total = values.sum(keepdims=True)
    none = values.graph.add("Equal", total, 0.0)
    return values.graph.add("Where", none, 1.0 / n_classes, values / total.or_one())


def _coupled(pairwise: Tensor, n_classes: int) -> Tensor:
    """Class probabilities up to a common factor, from P(i | i or j), pairs in the order (0, 1), (0, 2), ..."""
    graph = pairwise.graph
    first, second = np.triu_indices(n_classes, 1)
    pair = np.arange(len(first))
    place, base = np.zeros((len(first), n_classes, n_classes)), np.zeros((n_classes, n_classes))
    place[pair, first, second], place[pair, second, first], base[second, first] = 1.0, -1.0, 1.0
    value = graph.add("Clip", pairwise, SMALLEST_PROBABILITY, 1.0 - SMALLEST_PROBABILITY)
    entries = value @ place.reshape(len(first), -1) + base.ravel()
    r = graph.add("Reshape", entries, np.array([-1, n_classes, n_classes]))
    squares = graph.add("ReduceSum", r * r, np.array([1]), keepdims=1)
    matrix = squares * np.eye(n_classes) - r * graph.add("Transpose", r, perm=[0, 2, 1]) + 1.0
    system = graph.add("Pad", matrix, np.array([0, 0, 0, 0, 0, 1]), 1.0)  # the last column is the right-hand side
    for i, unit in enumerate(np.eye(n_classes)):
        row = graph.add("Gather", system, np.array([i]), axis=1)
        column = graph.add("Gather", system, np.array([i]), axis=2)
        pivot = graph.add("Gather", row, np.array([i]), axis=2)
        system = system - (column - unit[:, None]) * (row / pivot)
    solution = graph.add("Gather", system, np.array([n_classes]), axis=2)
    return graph.add("Max", graph.add("Squeeze", solution, np.array([2])), 0.0)


def _agreeing_with(number: Tensor, p: Tensor, n_classes: int) -> Tensor:
    """The nearest probabilities whose largest one is that of the predicted class (`sigmoid.agreeing_with`).

    Without sorting: means of the predicted class and all classes at least as probable as class j, for each j.
    """
    graph, predicted = p.graph, number.graph.add("Unsqueeze", number, np.array([1]))
    agrees = graph.add("Equal", graph.add("ArgMax", p, axis=1, keepdims=1), predicted)
    is_predicted = graph.add("Equal", predicted, np.arange(n_classes))
    beside, below = (graph.add("Unsqueeze", p, np.array([axis])) for axis in (1, 2))
    above = graph.add("GreaterOrEqual", beside, below)
    joined = graph.add("Or", above, graph.add("Unsqueeze", is_predicted, np.array([1])))
    weight = graph.add("Cast", joined, to=graph.onnx.TensorProto.DOUBLE)
    means = (weight * beside).sum() / weight.sum()
    highest = graph.add("ArgMax", means, axis=1, keepdims=1)  # ReduceMax is written differently from opset 18 on
    common = graph.add("GatherElements", means, highest, axis=1) * (1.0 - AHEAD)
    others = graph.add("Where", is_predicted, 0.0, graph.add("Min", p, common))
    lead = others.sum(keepdims=True) * -1.0 + 1.0
    return graph.add("Where", agrees, p, graph.add("Where", is_predicted, lead, others))
