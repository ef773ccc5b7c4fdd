"""Small linear machines of every kind, as estimators and as the quadratic programmes they stand for."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from widemargin import LinearSVC, LinearSVR
from widemargin.linalg.design import design_of
from widemargin.monitor.stopping import Stopping
from widemargin.problems.dual import SignedDual
from widemargin.problems.linear import LinearProblem, LinearRun, linear_problem

CLASSIFIERS = ("hinge", "squared_hinge")
REGRESSORS = ("epsilon_insensitive", "squared_epsilon_insensitive")
LOSSES = CLASSIFIERS + REGRESSORS
INTERCEPTS = {
    "penalised": {},
    "scaled": {"intercept_scaling": 3.0},
    "free": {"penalize_intercept": False},
    "none": {"fit_intercept": False},
}


def samples(loss, n=40, d=6, seed=0, sparse=False):
    """Random samples with classes or targets that a plane explains in part."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < (0.5 if sparse else 1.0))
    score = X @ rng.normal(size=d) + 0.7 * rng.normal(size=n) + 0.8
    y = np.where(score > 0, 1, 0) if loss in CLASSIFIERS else score
    if loss in CLASSIFIERS:
        y[:2] = 0, 1
    return (sp.csr_array(X) if sparse else X), y


def estimator(loss, **parameters):
    if loss in CLASSIFIERS:
        return LinearSVC(loss=loss, **parameters)
    return LinearSVR(loss=loss, epsilon=0.2, **parameters)


def signed_dual(loss, y, bound, free):
    """Written from the formulas, apart from the estimators' own builders."""
    n = len(y)
    squared = "squared" in loss
    if loss in CLASSIFIERS:
        sign = np.where(y == 1, 1.0, -1.0)
        top = np.full(n, np.inf) if squared else bound
        return SignedDual(
            linear_term=-sign,
            lower=np.where(sign > 0, 0.0, -top),
            upper=np.where(sign > 0, top, 0.0),
            diagonal=1.0 / (2.0 * bound) if squared else np.zeros(n),
            n_groups=int(free),
        )
    top = np.full(n, np.inf) if squared else bound
    return SignedDual(
        linear_term=-y,
        lower=-top,
        upper=top,
        diagonal=1.0 / (2.0 * bound) if squared else np.zeros(n),
        epsilon=np.full(n, 0.2),
        n_groups=int(free),
    )


def problem(loss, n=40, d=6, C=1.0, free=False, seed=0, sparse=False) -> LinearProblem:
    X, y = samples(loss, n, d, seed, sparse)
    return linear_problem(design_of(X, 1.0), signed_dual(loss, y, np.full(n, C), free))


def run_to(gap, max_iter=1000, watch=None) -> LinearRun:
    """A run that ends at a relative gap."""
    return LinearRun(Stopping(gap, "gap", max_iter), watch)


def primal(loss, X, y, C, weights, intercept, tau):
    """Objective of the textbook in extended precision; tau = inf for an intercept that is not penalised."""
    X = (X.toarray() if sp.issparse(X) else X).astype(np.longdouble)
    u = X @ weights.astype(np.longdouble) + np.longdouble(intercept)
    if loss in CLASSIFIERS:
        xi = np.maximum(0, 1 - np.where(y == 1, 1, -1) * u)
    else:
        xi = np.maximum(0, np.abs(y - u) - np.longdouble(0.2))
    penalty = 0 if tau in (0.0, np.inf) else (np.longdouble(intercept) / tau) ** 2
    return float(
        (weights.astype(np.longdouble) ** 2).sum() / 2 + penalty / 2 + (C * xi ** (2 if "squared" in loss else 1)).sum()
    )
