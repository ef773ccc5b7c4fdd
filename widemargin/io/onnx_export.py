"""A fitted machine as an ONNX model, which runs wherever ONNX runs, without Python or widemargin.

    input     X               (n, n_features) doubles; rows of the kernel matrix for a precomputed kernel
    outputs   label           (n,) classes, whole numbers or strings; +1 and -1 of a one-class machine
              decision        the values of decision_function, of the same shape
              probabilities   (n, 2) of a machine for two classes with a sigmoid
              prediction      (n,) of a regression, in place of all these

All in float64 with plain operators (onnx_kernels.py), so that the numbers are those of widemargin up to rounding.
Probabilities of three and more classes take an iteration and are left out.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

import widemargin
from widemargin.estimators import OneClassSVM
from widemargin.estimators.base import KernelMachine
from widemargin.estimators.one_class import ON_THE_BOUNDARY
from widemargin.io.onnx_kernels import Graph, Tensor, kernel_matrix
from widemargin.kernels import Linear, Precomputed
from widemargin.storage.atomic import replacing

OPSET = 15  # old enough for runtimes of 2021, new enough for every operator used
IR_VERSION = 8  # the file format that goes with it

Outputs = list[tuple[str, int, int]]  # name, type and columns (0 for a vector)


def to_onnx(model: Any, path: str | os.PathLike | None = None) -> Any:
    """Export a fitted machine to ONNX.

    Parameters
    ----------
    model : fitted SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC or LinearSVR of widemargin
        With a kernel of vectors.
        A preparation of the data (`preparation_`) is not part of the graph: give it prepared features. Laplacian and
        chi-squared kernels take memory for rows x support vectors x features while they run: give them small batches.
    path : path or None, default None
        File to write, replaced as a whole or not at all; None writes nothing.

    Returns
    -------
    exported : onnx.ModelProto

    Raises
    ------
    ImportError
        The package onnx is missing.
    TypeError, ValueError
        The model is of another kind, or its kernel has no formula in ONNX.

    Examples
    --------
    >>> import numpy as np
    >>> import onnxruntime
    >>> from widemargin import SVC
    >>> from widemargin.io import to_onnx
    >>> model = SVC(kernel="linear").fit([[-1.0], [1.0]], ["low", "high"])
    >>> session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    >>> session.run(["label"], {"X": np.array([[2.0]])})[0].tolist()
    ['high']
    """
    try:
        import onnx
        import onnx.helper
        import onnx.numpy_helper
    except ImportError:
        raise ImportError("Exporting to ONNX needs the package onnx: pip install 'widemargin[onnx]'.") from None
    if not (isinstance(model, KernelMachine) or type(model).__module__.startswith("widemargin.estimators")):
        raise TypeError(
            "ONNX export knows SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC and LinearSVR of widemargin; got "
            f"{type(model)}."
        )
    check_is_fitted(model)
    graph = Graph(onnx)
    values = _values(graph, model)
    outputs = _answers(graph, model, values)
    described = [
        onnx.helper.make_tensor_value_info(name, kind, ["n", columns] if columns else ["n"])
        for name, kind, columns in outputs
    ]
    X = onnx.helper.make_tensor_value_info("X", onnx.TensorProto.DOUBLE, ["n", _n_columns(model)])
    exported = onnx.helper.make_model(
        onnx.helper.make_graph(graph.nodes, type(model).__name__, [X], described, graph.constants),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="widemargin",
        producer_version=widemargin.__version__,
    )
    onnx.checker.check_model(exported)
    if path is not None:
        with replacing(Path(path)) as stream:
            stream.write(exported.SerializeToString())
    return exported


def _n_columns(model: Any) -> int:
    """Width of the input."""
    return int(model.n_features_in_ if hasattr(model, "n_features_in_") else model.support_vectors_.shape[1])


# ---- decision values of all two-class machines -----------------------------------------------------------------------


def _values(graph: Graph, model: Any) -> Tensor:
    """Values of all machines, shape (n, n_machines)."""
    if not hasattr(model, "_expansion"):  # a linear machine: weights of the features, and no support vectors
        weights = model.coef_.toarray() if sp.issparse(model.coef_) else np.atleast_2d(model.coef_)
        total = graph.add("MatMul", "X", graph.constant(np.ascontiguousarray(weights.T, np.float64)))
        return graph.add("Add", total, graph.constant(np.atleast_1d(np.asarray(model.intercept_, np.float64))))
    expansion = model._expansion
    n_support = expansion.coefficients.shape[1]
    if isinstance(expansion.kernel, Linear) or n_support == 0:
        weights = expansion.weights() if n_support else np.zeros((len(expansion.intercept), _n_columns(model)))
        total = graph.add("MatMul", "X", graph.constant(np.ascontiguousarray(weights.T)))
        return graph.add("Add", total, graph.constant(expansion.intercept))
    if isinstance(expansion.kernel, Precomputed):
        block = graph.add("Gather", "X", graph.constant(expansion.vectors.astype(np.int64)), axis=1)
    else:
        vectors = expansion.vectors.toarray() if sp.issparse(expansion.vectors) else expansion.vectors
        if not isinstance(vectors, np.ndarray) or vectors.dtype.kind != "f":
            raise ValueError("ONNX export needs support vectors of numbers; this machine was trained on other objects.")
        block = kernel_matrix(graph, expansion.kernel, "X", vectors.astype(np.float64))
    total = graph.add("MatMul", block, graph.constant(np.ascontiguousarray(_per_machine(expansion).T)))
    return graph.add("Add", total, graph.constant(expansion.intercept))


def _per_machine(expansion: Any) -> NDArray[np.float64]:
    """One row of coefficients per machine; one against one they are gathered from LIBSVM's layout (pair_order.py)."""
    if expansion.class_starts is None:
        return expansion.coefficients
    starts = expansion.class_starts
    first, second = np.triu_indices(len(starts) - 1, 1)
    rows = np.zeros((len(first), expansion.coefficients.shape[1]))
    for row, i, j in zip(rows, first, second, strict=True):
        row[starts[i] : starts[i + 1]] = expansion.coefficients[j - 1, starts[i] : starts[i + 1]]
        row[starts[j] : starts[j + 1]] = expansion.coefficients[i, starts[j] : starts[j + 1]]
    return rows


# ---- answers ---------------------------------------------------------------------------------------------------------


def _answers(graph: Graph, model: Any, values: Tensor) -> Outputs:
    """Add the outputs of the machine and describe them."""
    types = graph.onnx.TensorProto
    if is_regressor(model):
        _column(graph, values, output="prediction")
        return [("prediction", types.DOUBLE, 0)]
    if isinstance(model, OneClassSVM):
        value = _column(graph, values)
        limit = graph.constant(ON_THE_BOUNDARY * abs(float(model.offset_[0])))
        outside = graph.add("Greater", graph.add("Abs", value), limit)
        graph.add("Where", outside, value, graph.constant(0.0), output="decision")
        _label(graph, _truth(graph, "GreaterOrEqual", "decision", types.INT64), np.array([-1, 1]))
        return [("label", types.INT64, 0), ("decision", types.DOUBLE, 0)]
    n_classes = len(model.classes_)
    columns = 0
    if n_classes == 2:
        _column(graph, values, output="decision")
        at_zero = "GreaterOrEqual" if hasattr(model, "_expansion") else "Greater"  # as the estimators answer there
        number = _truth(graph, at_zero, "decision", types.INT64)
    elif model.multi_class != "ovo":
        graph.add("Identity", values, output="decision")
        number, columns = graph.add("ArgMax", values, axis=1, keepdims=0), n_classes
    else:
        number, columns = _pairs(graph, model, values)
    kind = _label(graph, number, model.classes_)
    outputs = [("label", kind, 0), ("decision", types.DOUBLE, columns)]
    if _probabilities(graph, model, values):
        outputs.append(("probabilities", types.DOUBLE, 2))
    return outputs


def _pairs(graph: Graph, model: Any, values: Tensor) -> tuple[Tensor, int]:
    """Class number by votes, one against one, and the output "decision" with its number of columns."""
    n_classes = len(model.classes_)
    first, second = np.triu_indices(n_classes, 1)
    confidence = _confidence(graph, values, n_classes)
    if model.decision_function_shape == "ovo":
        graph.add("Identity", values, output="decision")
        columns = len(first)
    else:
        graph.add("Identity", confidence, output="decision")
        columns = n_classes
    if model.break_ties:
        return graph.add("ArgMax", confidence, axis=1, keepdims=0), columns
    order = np.asarray(getattr(model, "tie_order_", np.arange(n_classes)), np.int64)
    count = _count(graph, _truth(graph, "Greater", values, graph.onnx.TensorProto.DOUBLE), n_classes)
    ordered = graph.add("Gather", count, graph.constant(order), axis=1)
    winner = graph.add("ArgMax", ordered, axis=1, keepdims=0)
    return graph.add("Gather", graph.constant(order), winner), columns


def _confidence(graph: Graph, values: Tensor, n_classes: int) -> Tensor:
    """Votes, and below one vote the squashed sum of the margins (multiclass.one_against_rest_confidence)."""
    first, second = np.triu_indices(n_classes, 1)
    sides = np.zeros((len(first), n_classes))
    sides[np.arange(len(first)), first], sides[np.arange(len(first)), second] = 1.0, -1.0
    margin = graph.add("MatMul", values, graph.constant(sides))
    size = graph.add("Add", graph.add("Abs", margin), graph.constant(1.0))
    squashed = graph.add("Div", margin, graph.add("Mul", size, graph.constant(3.0)))
    count = _count(graph, _truth(graph, "GreaterOrEqual", values, graph.onnx.TensorProto.DOUBLE), n_classes)
    return graph.add("Add", count, squashed)


def _count(graph: Graph, wins: Tensor, n_classes: int) -> Tensor:
    """Votes of each class, from 1 where the first class of a pair wins and 0 where the second does."""
    first, second = np.triu_indices(n_classes, 1)
    change, start = np.zeros((len(first), n_classes)), np.zeros(n_classes)
    for pair, (i, j) in enumerate(zip(first, second, strict=True)):
        change[pair, i], change[pair, j] = 1.0, -1.0
        start[j] += 1.0
    return graph.add("Add", graph.add("MatMul", wins, graph.constant(change)), graph.constant(start))


def _probabilities(graph: Graph, model: Any, values: Tensor) -> bool:
    """Add the output "probabilities" of two classes, if the machine has a sigmoid; says whether it did.

    The class that is answered never has the smaller probability, wherever the sigmoid crosses 1/2.
    """
    if len(getattr(model, "probA_", ())) == 0 or len(model.classes_) > 2:
        return False
    # The sigmoid of two classes belongs to the negative of the decision value, and to the first class.
    argument = graph.add("Mul", values, graph.constant(np.asarray(model.probA_)))
    first = graph.add("Sigmoid", graph.add("Sub", argument, graph.constant(np.asarray(model.probB_))))
    half = graph.constant(0.5)
    second_answered = graph.add("GreaterOrEqual", values, graph.constant(0.0))
    agreed = graph.add("Where", second_answered, graph.add("Min", first, half), graph.add("Max", first, half))
    graph.add("Concat", agreed, graph.add("Sub", graph.constant(1.0), agreed), output="probabilities", axis=1)
    return True


def _column(graph: Graph, values: Tensor, output: Tensor | None = None) -> Tensor:
    return graph.add("Squeeze", values, graph.constant(np.array([1], np.int64)), output=output)


def _truth(graph: Graph, comparison: str, values: Tensor, kind: int) -> Tensor:
    """1 where the values compare so with zero, else 0."""
    return graph.add("Cast", graph.add(comparison, values, graph.constant(0.0)), to=kind)


def _label(graph: Graph, number: Tensor, classes: NDArray) -> int:
    """Add the output "label" and return its type."""
    types = graph.onnx.TensorProto
    if classes.dtype.kind in "iub":
        graph.add("Gather", graph.constant(classes.astype(np.int64)), number, output="label")
        return types.INT64
    if classes.dtype.kind == "f":
        graph.add("Gather", graph.constant(classes.astype(np.float64)), number, output="label")
        return types.DOUBLE
    graph.add("Gather", graph.constant(classes.astype(np.str_)), number, output="label")
    return types.STRING
