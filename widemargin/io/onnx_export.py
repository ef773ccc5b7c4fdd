"""A fitted estimator as an ONNX model, which runs wherever ONNX runs, without Python or widemargin.

    input     X               (n, n_features) doubles; rows of the kernel matrix for a precomputed kernel. Of a pipeline
                              whose columns have names: one input of shape (n, 1) per column, doubles or strings
    outputs   label           (n,) classes, whole numbers or strings; +1 and -1 of a one-class SVM
              decision        the values of decision_function, of the same shape
              probabilities   (n, n_classes) of a classifier with sigmoids (probability=True)
              prediction      (n,) of a regression, in place of all these

All in float64 with plain operators (onnx_kernels.py), so that the numbers are those of widemargin up to rounding.
The steps of a pipeline before the estimator are converted by skl2onnx.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

import widemargin
from widemargin.estimators.base import KernelMachine
from widemargin.inspection.pipelines import unwrap
from widemargin.io.onnx_answers import add_answers
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
