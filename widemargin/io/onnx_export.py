"""A fitted estimator as an ONNX model, which runs wherever ONNX runs, without Python or widemargin.

    input     X               (n, n_features) doubles; rows of the kernel matrix for a precomputed kernel. Of a pipeline
                              whose columns have names: one input of shape (n, 1) per column, doubles or strings
    outputs   label           (n,) classes, whole numbers or strings; +1 and -1 of a one-class SVM
              decision        the values of decision_function, of the same shape
              probabilities   (n, 2) of a model for two classes with a sigmoid
              prediction      (n,) of a regression, in place of all these

All in float64 with plain operators (onnx_kernels.py), so that the numbers are those of widemargin up to rounding.
Probabilities of three and more classes take an iteration and are left out. The steps of a pipeline before the estimator
are converted by skl2onnx.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_regressor

import widemargin
from widemargin.estimators import OneClassSVM
from widemargin.estimators.base import KernelMachine
from widemargin.estimators.single_problem import ON_THE_BOUNDARY
from widemargin.inspection.pipelines import unwrap
from widemargin.io.onnx_kernels import Graph, Tensor, kernel_matrix
from widemargin.io.onnx_steps import ML_DOMAIN, ML_OPSET, add_steps
from widemargin.kernels import Linear, Precomputed
from widemargin.models.expansion import sum_by_problem
from widemargin.storage.atomic import replacing
from widemargin.storage.errors import ModelError

OPSET = 15  # old enough for runtimes of 2021, new enough for every operator used


def to_onnx(model: Any, path: str | os.PathLike | None = None) -> Any:
    """Export a fitted estimator to ONNX.

    Parameters
    ----------
    model : fitted SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC, LinearSVR or KernelPerceptron of widemargin
        With a kernel of vectors. A pipeline or search around one is exported with all its steps, as far as skl2onnx
        knows them.
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
    except ImportError:
        raise ImportError("Exporting to ONNX needs the package onnx: pip install 'widemargin[onnx]'.") from None
    if isinstance(model, BaseEstimator):
        model, before = unwrap(model)
    else:
        before = None
    ours = isinstance(model, KernelMachine) or type(model).__module__.startswith("widemargin.")
    if not ours or not (hasattr(model, "_expansion") or hasattr(model, "coef_")):
        raise ModelError(
            "ONNX export knows SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC, LinearSVR and KernelPerceptron of "
            f"widemargin; got {type(model).__name__}."
        )
    if getattr(model, "variant", None) == "voted":
        raise ModelError(
            "A voted perceptron is not one decision function, so ONNX export has no formula for it: fit "
            "one with variant='averaged'."
        )
    graph, opsets = Graph(onnx), [onnx.helper.make_opsetid("", OPSET)]
    if before is None:
        add_answers(graph, model, values_of(model, Tensor(graph, "X")))
        inputs = [onnx.helper.make_tensor_value_info("X", onnx.TensorProto.DOUBLE, ["n", int(model.n_features_in_)])]
    else:
        inputs, X = add_steps(graph, before, OPSET)
        add_answers(graph, model, values_of(model, X))
        opsets.append(onnx.helper.make_opsetid(ML_DOMAIN, ML_OPSET))
    exported = onnx.helper.make_model(
        onnx.helper.make_graph(graph.nodes, type(model).__name__, inputs, graph.outputs, graph.constants),
        opset_imports=opsets,
        ir_version=onnx.helper.find_min_ir_version_for(opsets),
        producer_name="widemargin",
        producer_version=widemargin.__version__,
    )
    onnx.checker.check_model(exported)
    if path is not None:
        with replacing(Path(path)) as stream:
            stream.write(exported.SerializeToString())
    return exported


# ---- decision values of all two-class models -----------------------------------------------------------------------


def values_of(model: Any, X: Tensor) -> Tensor:
    """Values of all models, shape (n, n_machines)."""
    if not hasattr(model, "_expansion"):  # a linear model: weights of the features, and no support vectors
        weights = model.coef_.toarray() if sp.issparse(model.coef_) else np.atleast_2d(model.coef_)
        return X @ weights.T.astype(np.float64) + np.atleast_1d(np.asarray(model.intercept_, np.float64))
    expansion = model._expansion
    kernel, vectors = expansion.kernel, expansion.vectors
    if expansion.coefficients.shape[1] == 0:
        return X @ np.zeros((model.n_features_in_, len(expansion.intercept))) + expansion.intercept
    if isinstance(kernel, Linear):
        return X @ expansion.weights().T + expansion.intercept
    if isinstance(kernel, Precomputed):
        block = X.graph.add("Gather", X, vectors.astype(np.int64), axis=1)
    else:
        vectors = vectors.toarray() if sp.issparse(vectors) else vectors
        if not isinstance(vectors, np.ndarray) or vectors.dtype.kind != "f":
            raise ValueError("ONNX export needs support vectors of numbers; this model was trained on other objects.")
        block = kernel_matrix(kernel, X, vectors.astype(np.float64))
    totals = sum_by_problem(expansion.coefficients, sp.identity(len(vectors), format="csr"), expansion.class_starts)
    return block @ totals.T + expansion.intercept


# ---- answers ---------------------------------------------------------------------------------------------------------


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
    """Add the outputs "label" and "decision" of a classifier, and "probabilities" of two classes with a sigmoid."""
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
    if n_classes == 2 and len(getattr(model, "probA_", ())):
        graph.add_output("probabilities", _probabilities(graph, model, values), 2)


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


def _probabilities(graph: Graph, model: Any, values: Tensor) -> Tensor:
    """Probabilities of two classes; the class that is answered never has the smaller one, wherever the sigmoid is 1/2.

    The sigmoid of two classes belongs to the negative of the decision value, and to the first class.
    """
    first = graph.add("Sigmoid", values * np.asarray(model.probA_) - np.asarray(model.probB_))
    second_answered = graph.add("GreaterOrEqual", values, 0.0)
    agreed = graph.add("Where", second_answered, graph.add("Min", first, 0.5), graph.add("Max", first, 0.5))
    return graph.add("Concat", agreed, agreed * -1.0 + 1.0, axis=1)


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
