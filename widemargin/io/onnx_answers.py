"""The answers of a fitted estimator as ONNX operators, from the values of its two-class models or of its regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor

from widemargin.estimators import OneClassSVM
from widemargin.estimators.single_problem import ON_THE_BOUNDARY
from widemargin.io.onnx_kernels import Graph, Tensor
from widemargin.io.onnx_probabilities import probabilities_of


def add_answers(graph: Graph, model: Any, values: Tensor) -> None:
    """Add the outputs of the model."""
    if is_regressor(model):
        graph.add_output("prediction", _column(values))
    elif isinstance(model, OneClassSVM):
        value = _column(values)
        outside = graph.add("Greater", abs(value), ON_THE_BOUNDARY * abs(float(model.offset_[0])))
        decision = graph.add("Where", outside, value, 0.0)
        _add_label(graph, _truth("GreaterOrEqual", decision, np.int64), np.array([-1, 1]))
        graph.add_output("decision", decision)
    else:
        _add_class(graph, model, values)


def _add_class(graph: Graph, model: Any, values: Tensor) -> None:
    """Add the outputs "label" and "decision" of a classifier, and "probabilities" if it has sigmoids."""
    n_classes = len(model.classes_)
    if n_classes == 2:
        decision, columns = _column(values), 0
        at_zero = "GreaterOrEqual" if hasattr(model, "_expansion") else "Greater"  # as the estimators answer there
        number = _truth(at_zero, decision, np.int64)
    elif getattr(model, "multi_class", "ovr") != "ovo":  # a perceptron has one model per class
        decision, columns = values, n_classes
        number = _largest(values)
    else:
        number, decision, columns = _of_pairs(graph, model, values)
    _add_label(graph, number, model.classes_)
    graph.add_output("decision", decision, columns)
    if len(getattr(model, "probA_", ())):
        graph.add_output("probabilities", probabilities_of(model, values, number), n_classes)


def _of_pairs(graph: Graph, model: Any, values: Tensor) -> tuple[Tensor, Tensor, int]:
    """Class number by votes, one against one, and the decision values with their number of columns.

    Confidence is votes, and below one vote the squashed sum of the margins (multiclass.one_against_rest_confidence).
    """
    n_classes = len(model.classes_)
    first, second = np.triu_indices(n_classes, 1)
    sides = np.eye(n_classes)[first] - np.eye(n_classes)[second]

    def votes(comparison: str) -> Tensor:
        # class j is the second of j pairs, and has won them all before the first classes get theirs
        return _truth(comparison, values, np.float64) @ sides + np.arange(float(n_classes))

    margin = values @ sides
    confidence = votes("GreaterOrEqual") + margin / ((abs(margin) + 1.0) * 3.0)
    shown = (values, len(first)) if model.decision_function_shape == "ovo" else (confidence, n_classes)
    if model.break_ties:
        return _largest(confidence), *shown
    order = np.asarray(getattr(model, "tie_order_", np.arange(n_classes)), np.int64)
    winner = _largest(graph.add("Gather", votes("Greater"), order, axis=1))
    return graph.add("Gather", order, winner), *shown


def _column(values: Tensor) -> Tensor:
    return values.graph.add("Squeeze", values, np.array([1]))


def _largest(values: Tensor) -> Tensor:
    """Column of the largest value."""
    return values.graph.add("ArgMax", values, axis=1, keepdims=0)


def _truth(comparison: str, values: Tensor, kind: type) -> Tensor:
    """1 where the values compare so with zero, else 0."""
    graph = values.graph
    to = graph.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    return graph.add("Cast", graph.add(comparison, values, 0.0), to=to)


def _add_label(graph: Graph, number: Tensor, classes: NDArray) -> None:
    """Add the output "label", the class of a number."""
    types = graph.onnx.TensorProto
    whole, real = (np.int64, types.INT64), (np.float64, types.DOUBLE)
    known = {"i": whole, "u": whole, "b": whole, "f": real}
    form, kind = known.get(classes.dtype.kind, (np.str_, types.STRING))
    graph.add_output("label", graph.add("Gather", classes.astype(form), number), kind=kind)
