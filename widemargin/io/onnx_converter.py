"""Our estimators for skl2onnx: one call registers a converter, and pipelines with them convert like any other.

The converter writes the graph of `to_onnx` (onnx_export.py). Its probabilities are those of `predict_proba`: sigmoids
of the decision values, coupled over all classes, and changed where another class than the predicted one would be the
most probable. A converter for scikit-learn's SVC lacks the last step.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier

import widemargin.estimators
from widemargin.io.onnx_answers import add_answers
from widemargin.io.onnx_export import OPSET, values_of
from widemargin.io.onnx_kernels import Graph, Tensor
from widemargin.storage.errors import ModelError

CONVERTED = ("SVC", "NuSVC", "SVR", "NuSVR", "LinearSVC", "LinearSVR")
OPTIONS = {"zipmap": [True, False, "columns"], "nocl": [True, False], "output_class_labels": [True, False]}


def register_with_skl2onnx() -> None:
    """Register SVC, NuSVC, SVR, NuSVR, LinearSVC and LinearSVR with skl2onnx, for this process.

    Afterwards `skl2onnx.to_onnx` converts them, alone and in pipelines. Outputs are doubles: label and probabilities
    of classifiers with probability=True, label and decision values of others, predictions of a regression.

    Raises
    ------
    ImportError
        The package skl2onnx is missing.

    Examples
    --------
    >>> import numpy as np
    >>> import skl2onnx
    >>> from widemargin import SVR
    >>> from widemargin.io import register_with_skl2onnx
    >>> register_with_skl2onnx()
    >>> model = SVR().fit([[0.0], [1.0]], [0.0, 1.0])
    >>> exported = skl2onnx.to_onnx(model, np.zeros((1, 1)))
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError:
        raise ImportError("Converters are registered with skl2onnx: pip install 'widemargin[onnx]'.") from None
    for name in CONVERTED:
        kind = getattr(widemargin.estimators, name)
        options = OPTIONS if name.endswith("SVC") else None
        update_registered_converter(kind, f"Widemargin{name}", _set_types, _convert, options=options)


def _set_types(operator: Any) -> None:
    """Set types and shapes of the outputs."""
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType, StringTensorType

    model = operator.raw_operator
    if not is_classifier(model):
        operator.outputs[0].type = DoubleTensorType([None, 1])
        return
    whole = model.classes_.dtype.kind in "iub"
    operator.outputs[0].type = (Int64TensorType if whole else StringTensorType)([None])
    operator.outputs[1].type = DoubleTensorType([None, None])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a model to the graph that skl2onnx is building."""
    import onnx

    model, (given,) = operator.raw_operator, operator.inputs
    if container.target_opset < OPSET:
        raise ModelError(f"widemargin writes operators of opset {OPSET}: convert with target_opset={OPSET} or higher.")
    graph = Graph(onnx)
    X = graph.add("Cast", Tensor(graph, "X"), to=onnx.TensorProto.DOUBLE)
    add_answers(graph, model, values_of(model, X))
    found = {output.name: Tensor(graph, output.name) for output in graph.outputs}
    if not is_classifier(model):
        results = [graph.add("Unsqueeze", found["prediction"], [1])]
    else:
        results = [found["label"], found.get("probabilities") or _columns(found["decision"], len(model.classes_))]
    theirs = {"X": given.full_name}
    for result, output in zip(results, operator.outputs, strict=True):
        theirs[graph.add("Identity", result).name] = output.full_name
    prefix = scope.get_unique_operator_name("widemargin")
    _hand_over(graph, container, lambda name: theirs.get(name, f"{prefix}_{name}"), scope)


def _columns(decision: Tensor, n_classes: int) -> Tensor:
    """Decision values with one column per class; those of pairs stay as they are."""
    if n_classes > 2:
        return decision
    column = decision.graph.add("Unsqueeze", decision, [1])
    return decision.graph.add("Concat", column * -1.0, column, axis=1)


def _hand_over(graph: Graph, container: Any, renamed: Any, scope: Any) -> None:
    """Give nodes and constants to skl2onnx, under names that nobody else has."""
    for constant in graph.constants:
        constant.name = renamed(constant.name)
        container.initializers.append(constant)
    for node in graph.nodes:
        attributes = {one.name: graph.onnx.helper.get_attribute_value(one) for one in node.attribute}
        inputs, outputs = ([renamed(name) for name in names] for names in (node.input, node.output))
        name = scope.get_unique_operator_name(node.op_type)
        container.add_node(node.op_type, inputs, outputs, op_version=OPSET, name=name, **attributes)
