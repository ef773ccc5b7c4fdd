"""Functional and geometric margins of a two-class model.

    functional   y_i f(x_i),          f(x) = w'phi(x) + b; it grows with the scale of (w, b)
    geometric    y_i f(x_i) / |w|,    the signed distance from the separating hyperplane in feature space

The margin of a set is the smallest of its points. On separable data the hard-margin SVM has the largest geometric
possible margin, 1 / |w|, because its smallest functional margin is one.

See  Ng & Ma, CS229 lecture notes, part V, section 4; Cristianini & Shawe-Taylor (2000), Definition 2.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin.kernels import make_kernel
from widemargin.kernels.names import is_precomputed
from widemargin.linalg.arrays import Vector
from widemargin.pipelines import prepared, unwrap


@dataclass(frozen=True, eq=False)
class Margins:
    """Margins of samples with respect to a model.

    Attributes
    ----------
    functional, geometric : float64 arrays of shape (n_samples,)
        Positive where the sample is classified correctly.
    weight_norm : float
        |w| in feature space.
    """

    functional: Vector
    geometric: Vector
    weight_norm: float

    @property
    def functional_margin(self) -> float:
        """The smallest functional margin of the samples."""
        return float(self.functional.min())

    @property
    def geometric_margin(self) -> float:
        """The smallest geometric margin of the samples; negative if one is misclassified."""
        return float(self.geometric.min())


def margins(model: Any, X: Any, y: Any) -> Margins:
    """Functional and geometric margins of samples.

    Parameters
    ----------
    model : fitted SVC or NuSVC with two classes, of widemargin or of scikit-learn, or a pipeline or search around one
    X : samples of shape (n_samples, n_features); for a precomputed kernel, the square training matrix
    y : their classes, shape (n_samples,)

    Returns
    -------
    margins : Margins

    Examples
    --------
    >>> import numpy as np
    >>> import widemargin
    >>> X = np.array([[-1.0, 0.0], [1.0, 0.0], [3.0, 1.0]])
    >>> model = widemargin.SVC(kernel="linear", C=np.inf).fit(X, [0, 1, 1])
    >>> found = widemargin.margins(model, X, [0, 1, 1])
    >>> found.functional.round(3).tolist(), round(found.geometric_margin, 3)
    ([1.0, 1.0, 3.0], 1.0)
    """
    model, before = unwrap(model)
    X = prepared(before, X)
    classes: Any = getattr(model, "classes_", ())
    if len(classes) != 2:
        raise ValueError(
            f"margins needs a classifier with two classes; {type(model).__name__} has {len(classes)}. Of a machine "
            "for several classes each pair has margins of its own: fit the pair you want to look at."
        )
    sign = np.where(np.asarray(y) == classes[1], 1.0, -1.0)
    if not np.isin(np.asarray(y), classes).all():
        raise ValueError(f"y must hold the classes of the model, {classes[0]!r} and {classes[1]!r}, only.")
    functional = sign * model.decision_function(X)
    norm = float(np.sqrt(max(0.0, _squared_norm(model, X))))
    with np.errstate(divide="ignore", invalid="ignore"):
        geometric = functional / norm
    return Margins(functional, geometric, norm)


def _squared_norm(model: Any, X: Any) -> float:
    """|w|^2 = b'Kb over the support vectors."""
    coefficients = model.dual_coef_
    b = np.asarray(coefficients.toarray() if sp.issparse(coefficients) else coefficients, np.float64).ravel()
    if is_precomputed(model.kernel):
        K = np.asarray(X, np.float64)
        if K.shape != (model.shape_fit_[0],) * 2:
            raise ValueError(
                "With a precomputed kernel |w| needs the kernel between all training samples: give the square matrix "
                "of the fit."
            )
        K = K[np.ix_(model.support_, model.support_)]
    else:
        kernel = make_kernel(model.kernel, gamma=model._gamma, degree=model.degree, coef0=model.coef0)
        K = kernel(model.support_vectors_)
    return float(b @ K @ b)
