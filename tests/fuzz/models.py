"""The problems behind a fitted machine, read from its public attributes and its training data alone.

    SVC, SVR, OneClassSVM   b = dual_coef_,  level r = -intercept_
    NuSVC                   dual_coef_ was divided by the margin rho; sum |b| = nu m gives it back, r = rho (+-1 - bias)
    NuSVR                   b = alpha - alpha*: known apart where both halves have their sum without overlap
    solvers without groups  (adatron and its kin) intercept_ is a constant in F

Box of a sample: C times weight times class weight, multiplied in this order; one against one has class i < j positive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tests.fuzz.kernel_sums import KernelFormula, Vector
from tests.fuzz.oracles import Problem
from widemargin.kernels.algebra import Scaled

FIXED_BIAS = ("adatron", "coordinate", "fixed-threshold", "perceptron")
SUM_ROUNDING = 2.3e-16  # relative, times the number of samples: nu m summed in any order
NU_SLACK = 2e-9  # relative: the margin is known as well as the sum of the multipliers, which may be off by 1e-9


@dataclass
class Data:
    """What a machine was trained on, dense, without samples of weight zero."""

    X: NDArray
    y: Any
    weight: Vector
    kept: NDArray[np.int64]


def training_data(X: Any, y: Any, weight: Any, precomputed: bool) -> Data:
    """Leave out samples of weight zero."""
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X)
    w = np.ones(len(dense)) if weight is None else np.asarray(weight, np.float64)
    kept = np.flatnonzero(w > 0)
    part = dense[np.ix_(kept, kept)] if precomputed else dense[kept]
    return Data(part, None if y is None else np.asarray(y)[kept], w[kept], kept)


def kernel_of(model: Any, data: Data) -> KernelFormula:
    """The model's kernel; gamma must be a number."""
    given = data.X.astype(np.float64) if isinstance(model.kernel, str) and model.kernel == "precomputed" else None
    return formula_of(model.kernel, model.gamma, model.degree, model.coef0, given)


def formula_of(kernel: Any, gamma: Any, degree: Any, coef0: Any, given: Any) -> KernelFormula:
    """The formula of a kernel by name, of a function, or of a Gaussian kernel times a factor."""
    if isinstance(kernel, Scaled):
        return KernelFormula("scaled", kernel.kernel.gamma, coef0=kernel.factor)
    if callable(kernel):
        return KernelFormula("callable", given=kernel)
    return KernelFormula(kernel, float(gamma), int(degree), float(coef0), given)


def problems_of(model: Any, X: Any, y: Any, weight: Any, certificates: list[Any]) -> list[Problem]:
    """One problem per certificate, with the answer the model holds."""
    data = training_data(X, y, weight, isinstance(model.kernel, str) and model.kernel == "precomputed")
    kernel = kernel_of(model, data)
    support = np.searchsorted(data.kept, model.support_)
    dual_coef = model.dual_coef_.toarray() if sparse.issparse(model.dual_coef_) else np.asarray(model.dual_coef_)
    name = type(model).__name__
    if name in ("SVC", "NuSVC"):
        return _classifier(name, model, kernel, data, support, dual_coef, certificates)
    b = np.zeros(len(data.X))
    b[support] = dual_coef[0]
    bias, levels = float(model.intercept_[0]), _levels(certificates[0])
    if name == "OneClassSVM":
        total = model.nu * data.weight.sum()
        return [_problem(kernel, data.X, b, 0.0 * b, 0.0 * b, data.weight, -bias, levels, sums=np.array([total]))]
    bound = model.C * data.weight
    target = data.y.astype(np.float64)
    if name == "NuSVR":
        return [_nu_regression(model, kernel, data.X, b, target, bound, bias, levels)]
    epsilon = np.full(len(b), float(model.epsilon))
    lower, upper, diagonal = -bound, bound, np.zeros(len(b))
    if model.loss.startswith("squared"):
        lower, upper, diagonal = np.full(len(b), -np.inf), np.full(len(b), np.inf), 1.0 / bound
    options = {"diagonal": diagonal, "epsilon": epsilon, "fixed_bias": model.solver in FIXED_BIAS}
    return [_problem(kernel, data.X, b, -target, lower, upper, -bias, levels, **options)]


def _levels(certificate: Any) -> list[Vector]:
    return [np.array(certificate.level)] if len(certificate.level) else []


def _problem(
    kernel: KernelFormula, X: NDArray, b: Vector, linear_term: Vector, lower: Vector, upper: Vector, level: float,
    levels: list[Vector], *, diagonal: Vector | None = None, epsilon: Vector | None = None, fixed_bias: bool = False,
    sums: Vector | None = None,
) -> Problem:  # fmt: skip
    """A problem with one group, or with none and a constant in F."""
    zero = np.zeros(len(b))
    own = None if fixed_bias else np.array([level])
    return Problem(
        kernel, X, b, linear_term, lower, upper,
        diagonal=zero if diagonal is None else diagonal,
        epsilon=zero if epsilon is None else epsilon,
        group=np.zeros(len(b), np.int64),
        n_groups=0 if fixed_bias else 1,
        sums=np.zeros(1) if sums is None else sums,
        sums_error=SUM_ROUNDING * len(b),
        offset=-level if fixed_bias else 0.0,
        level=own,
        levels=[] if own is None else [own, *levels],
    )  # fmt: skip


def _classifier(
    name: str, model: Any, kernel: KernelFormula, data: Data, support: Vector, dual_coef: NDArray, certificates: list
) -> list[Problem]:
    """The two-class problems in the order of their certificates."""
    classes, number = np.unique(data.y, return_inverse=True)
    weight = data.weight * np.asarray(model.class_weight_)[number]
    k, problems = len(classes), []
    if k == 2:
        cuts = [(1, 0)]
    else:
        cuts = [(c, -1) for c in range(k)] if model.multi_class == "ovr" else list(zip(*np.triu_indices(k, 1)))
    for place, (positive, negative) in enumerate(cuts):
        b = np.zeros(len(data.X))
        if k == 2 or negative < 0:
            index, sign = np.arange(len(b)), np.where(number == positive, 1.0, -1.0)
            b[support] = dual_coef[place]
        else:
            index = np.concatenate([np.flatnonzero(number == positive), np.flatnonzero(number == negative)])
            sign = np.where(number[index] == positive, 1.0, -1.0)
            for own, row in ((positive, negative - 1), (negative, positive)):
                mine = number[support] == own
                b[support[mine]] = dual_coef[row, mine]
        part = kernel
        if kernel.name == "precomputed":
            part = KernelFormula("precomputed", given=kernel.given[np.ix_(index, index)])
        make = _nu_classification if name == "NuSVC" else _c_classification
        levels, bias = _levels(certificates[place]), float(model.intercept_[place])
        problems.append(make(model, part, data.X[index], b[index], sign, weight[index], bias, levels))
    return problems


def _c_classification(
    model: Any, kernel: KernelFormula, X: NDArray, b: Vector, sign: Vector, weight: Vector, bias: float, levels: list
) -> Problem:
    bound, diagonal = model.C * weight, None
    if model.loss == "squared_hinge":
        bound, diagonal = np.full(len(b), np.inf), 1.0 / bound
    lower, upper = np.minimum(sign * bound, 0.0), np.maximum(sign * bound, 0.0)
    return _problem(
        kernel, X, b, -sign, lower, upper, -bias, levels, diagonal=diagonal, fixed_bias=model.solver in FIXED_BIAS
    )


def _nu_classification(
    model: Any, kernel: KernelFormula, X: NDArray, b: Vector, sign: Vector, weight: Vector, bias: float, levels: list
) -> Problem:
    """Two groups; class weights may have moved the level of the lighter class, which is then not judged."""
    lighter = min(weight[sign > 0].sum(), weight[sign < 0].sum())
    nu = min(model.nu, 2.0 * lighter / weight.sum())
    total = float(np.abs(b).astype(np.longdouble).sum())
    rho = nu * weight.sum() / total if total > 0 else 1.0
    zero, level = np.zeros(len(b)), rho * np.array([1.0 - bias, -1.0 - bias])
    half = nu * weight.sum() / 2.0
    return Problem(
        kernel, X, rho * b, zero, np.minimum(sign * weight, 0.0), np.maximum(sign * weight, 0.0), zero, zero,
        group=(sign < 0).astype(np.int64), n_groups=2, sums=np.array([half, -half]),
        sums_error=SUM_ROUNDING * len(b), levels=[level, *levels], slack=NU_SLACK, rounded_when_stored=True,
        level=level if model.class_weight is None and abs(rho - 1.0) > NU_SLACK else None,
    )  # fmt: skip


def _nu_regression(
    model: Any, kernel: KernelFormula, X: NDArray, b: Vector, y: Vector, bound: Vector, bias: float, levels: list
) -> Problem:
    """2n variables: alpha >= 0 above the tube, -alpha* <= 0 below it."""
    n, zero, half = len(b), np.zeros(len(b)), model.nu * bound.sum() / 2.0
    above, below = np.maximum(b, 0.0), np.maximum(-b, 0.0)
    apart = max(abs(above.sum() - half), abs(below.sum() - half)) <= NU_SLACK * half
    level = np.array([-bias - model.epsilon_, -bias + model.epsilon_])
    return Problem(
        kernel, X, np.concatenate([above, -below]), np.concatenate([-y, -y]), np.concatenate([zero, -bound]),
        np.concatenate([bound, zero]), np.zeros(2 * n), np.zeros(2 * n), group=np.repeat([0, 1], n), n_groups=2,
        sums=np.array([half, -half]), row=np.tile(np.arange(n), 2), level=level, levels=[level, *levels],
        sums_error=SUM_ROUNDING * n, slack=NU_SLACK, split_known=apart, rounded_when_stored=True,
    )  # fmt: skip
