"""The steps of a pipeline before our estimator as the beginning of its ONNX graph, converted by skl2onnx.

Columns without names are one input, X, of doubles. Columns with names are one input each, since their types may differ:
strings where an encoder has strings as categories, doubles elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from widemargin.io.onnx_kernels import Graph, Tensor

ML_DOMAIN, ML_OPSET = "ai.onnx.ml", 2  # operators for encoders; runtimes of 2021 have this version
PREFIX = "steps_"  # of the names that skl2onnx chose, so that none is equal to one of ours


def add_steps(graph: Graph, before: Any, opset: int) -> tuple[list[Any], Tensor]:
    """Add fitted steps to an empty graph; return its inputs and the tensor of features."""
    try:
        from skl2onnx import convert_sklearn
        from skl2onnx.common.data_types import DoubleTensorType, StringTensorType
    except ImportError:
        raise ImportError("Exporting a pipeline to ONNX needs skl2onnx: pip install 'widemargin[onnx]'.") from None
    names = getattr(before, "feature_names_in_", None)
    if names is None:
        wanted = [("X", DoubleTensorType([None, int(before.n_features_in_)]))]
    else:
        texts = set(_columns_of_strings(before))
        wanted = [(name, (StringTensorType if name in texts else DoubleTensorType)([None, 1])) for name in names]
    try:
        made = convert_sklearn(before, initial_types=wanted, target_opset={"": opset, ML_DOMAIN: ML_OPSET})
    except (NotImplementedError, RuntimeError, TypeError, ValueError) as reason:
        raise ValueError(
            f"skl2onnx cannot convert {', '.join(type(step).__name__ for _, step in before.steps)} ({reason}): export "
            "the estimator alone, pipeline[-1], and give it prepared features."
        ) from reason
    made = graph.onnx.compose.add_prefix(made, PREFIX)
    for entry in made.graph.input:  # the names users see; up to onnx 1.17 rename_inputs=False renames them, too
        prefixed, entry.name = entry.name, entry.name.removeprefix(PREFIX)
        graph.add("Identity", Tensor(graph, entry.name), output=prefixed)
    graph.nodes += made.graph.node
    graph.constants += made.graph.initializer
    (features,) = made.graph.output
    double = graph.onnx.TensorProto.DOUBLE  # encoders give floats where they are alone
    return list(made.graph.input), graph.add("Cast", Tensor(graph, features.name), to=double)


def _columns_of_strings(step: Any) -> Iterator[Any]:
    """Names of the columns that fitted steps read as strings."""
    if hasattr(step, "steps"):  # only the first step sees the columns themselves
        yield from _columns_of_strings(step.steps[0][1])
    elif hasattr(step, "transformers_"):
        for _, inner, _ in step.transformers_:
            yield from _columns_of_strings(inner)
    elif hasattr(step, "categories_"):
        yield from (name for name, own in zip(step.feature_names_in_, step.categories_) if isinstance(own[0], str))
