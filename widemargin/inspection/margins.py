"""Functional and geometric margins of a two-class model, and the ratio that bounds its capacity.

    functional   y_i f(x_i),          f(x) = w'phi(x) + b; it grows with the scale of (w, b)
    geometric    y_i f(x_i) / |w|,    the signed distance from the separating hyperplane in feature space

The margin of a set is the smallest of its points. On separable data the hard-margin SVM has the largest geometric
possible margin, 1 / |w|, because its smallest functional margin is one.

The ratio R^2 / margin^2, R = max |phi(x_i)|, measures the fat-shattering dimension of hyperplanes with that margin. A
bias fixed at zero in the space with one more coordinate tau, the kernel K + tau^2, raises it to at most

    (R^2 + tau^2) (1 + R^2 / tau^2) / margin^2,        which is smallest at tau = R: 4 R^2 / margin^2.

See  Ng & Ma, CS229 lecture notes, part V, section 4; Cristianini & Shawe-Taylor (2000), Definition 2.2, Remark 7.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin.inspection.pipelines import prepared, unwrap
from widemargin.kernels import Linear, make_kernel
from widemargin.kernels.names import is_precomputed
from widemargin.linalg.arrays import Vector


@dataclass(frozen=True, eq=False, repr=False)
class Margins:
    """Margins of samples with respect to a model.

    Attributes
    ----------
    functional, geometric : float64 arrays of shape (n_samples,)
        Positive where the sample is classified correctly.
    weight_norm : float
        |w| in feature space.
    radius : float
        R, the length of the longest sample in feature space.
    """

    functional: Vector
    geometric: Vector
    weight_norm: float
    radius: float

    def __repr__(self) -> str:
        numbers = ("functional_margin", "geometric_margin", "weight_norm", "radius", "ratio")
        shown = ", ".join(f"{name}={getattr(self, name):.6g}" for name in numbers)
        return f"Margins({shown}, n_samples={len(self.functional)})"

    @property
    def functional_margin(self) -> float:
        """The smallest functional margin of the samples."""
        return float(self.functional.min())

    @property
    def geometric_margin(self) -> float:
        """The smallest geometric margin of the samples; negative if one is misclassified."""
        return float(self.geometric.min())

    @property
    def ratio(self) -> float:
        """R^2 / margin^2 with the geometric margin; infinite if a sample is misclassified or on the boundary."""
        margin = self.geometric_margin
        return (self.radius / margin) ** 2 if margin > 0.0 else float("inf")

    def ratio_with_fixed_bias(self, tau: float | None = None) -> float:
        """Return a bound on the ratio of the same boundary under the kernel K + tau^2 without bias; None is tau = R."""
        if tau is not None and not tau > 0.0:
            raise ValueError(f"tau, the coordinate added to every sample, must be positive; got {tau!r}.")
        if tau is None or self.ratio == float("inf"):
            return 4.0 * self.ratio
        return (1.0 + (tau / self.radius) ** 2) * (1.0 + (self.radius / tau) ** 2) * self.ratio


def margins(model: Any, X: Any, y: Any) -> Margins:
    """Functional and geometric margins of samples, and R^2 / margin^2.

    Parameters
    ----------
    model : fitted classifier with two classes, of widemargin or of scikit-learn, or a pipeline or search around one
        SVC, NuSVC, LinearSVC, or another with `support_vectors_` or `coef_`.
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
    >>> found  # R^2 = 10
    Margins(functional_margin=1, geometric_margin=1, weight_norm=1, radius=3.16228, ratio=10, n_samples=3)
    >>> round(found.ratio_with_fixed_bias(), 3)
    40.0
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
    if not (hasattr(model, "support_vectors_") or hasattr(model, "coef_")):
        raise TypeError(
            f"margins needs the weights of a boundary, support_vectors_ or coef_, which {type(model).__name__} does "
            "not have: give it a fitted SVC, NuSVC or LinearSVC."
        )
    functional = sign * model.decision_function(X)
    squared_norm, squared_lengths = _in_feature_space(model, X)
    norm = float(np.sqrt(max(0.0, squared_norm)))
    with np.errstate(divide="ignore", invalid="ignore"):
        geometric = functional / norm
    return Margins(functional, geometric, norm, float(np.sqrt(squared_lengths.max(initial=0.0))))


def _in_feature_space(model: Any, X: Any) -> tuple[float, Vector]:
    """|w|^2, of a kernel model b'Kb over the support vectors, and k(x, x) of the samples."""
    if not hasattr(model, "support_vectors_"):
        w = model.coef_.toarray() if sp.issparse(model.coef_) else np.asarray(model.coef_, np.float64)
        linear = Linear()
        return float(np.vdot(w, w)), linear.diag(linear.prepare(X, np.float64))
    coefficients = model.dual_coef_
    b = np.asarray(coefficients.toarray() if sp.issparse(coefficients) else coefficients, np.float64).ravel()
    if is_precomputed(model.kernel):
        K = np.asarray(X, np.float64)
        if K.shape != (model.shape_fit_[0],) * 2:
            raise ValueError(
                "With a precomputed kernel |w| needs the kernel between all training samples: give the square matrix "
                "of the fit."
            )
        lengths, K = np.diagonal(K), K[np.ix_(model.support_, model.support_)]
    else:
        kernel = make_kernel(model.kernel, gamma=model._gamma, degree=model.degree, coef0=model.coef0)
        lengths, K = kernel.diag(kernel.prepare(X)), kernel(model.support_vectors_)
    return float(b @ K @ b), lengths
