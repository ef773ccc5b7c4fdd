"""The certificate against extended precision: what it claims is true of the model and its multipliers."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import widemargin.certificate.linear_judge as certify_module
from tests.linear.machines import CLASSIFIERS, LOSSES
from widemargin import LinearSVC, LinearSVR, Status

LONG = np.longdouble
EXTENDED = np.finfo(LONG).eps < 1e-18
pytestmark = pytest.mark.skipif(not EXTENDED, reason="needs a long double of more than 53 bits")
SLACK = LONG(1e-16)  # relative to the sizes of all terms: what the oracle's own sums may be off by


def random_fit(seed):
    """An estimator and its data: scales, C, losses, kinds of rows and of intercept, and weights at random."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 120)), int(rng.integers(1, 30))
    if seed % 10 == 0:
        n, d = 900, 30  # beyond the size that is solved to rounding
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-6, 6)
    if rng.random() < 0.3:
        X *= 10.0 ** rng.uniform(-3, 3, d)
    if rng.random() < 0.2:
        X += 10.0 ** rng.uniform(-2, 5) * np.abs(X).max() / 1e3
    sparse = rng.random() < 0.4
    if sparse:
        X *= rng.random((n, d)) < 0.4
    loss = LOSSES[seed % 4]
    score = X @ rng.normal(size=d)
    score = score / max(score.std(), 1e-300) + rng.choice([0.0, 0.3, 3.0]) * rng.normal(size=n)
    weight = None if rng.random() < 0.5 else 10.0 ** rng.uniform(-3, 3, n)
    options = {"C": 10.0 ** rng.uniform(-6, 6), "tol": float(rng.choice([1e-2, 1e-4, 1e-7, 1e-10]))}
    options |= [{}, {"intercept_scaling": 3.7}, {"penalize_intercept": False}, {"fit_intercept": False}][
        int(rng.integers(4))
    ]
    if loss in CLASSIFIERS:
        y = (score > np.median(score)).astype(int)
        y[:2] = 0, 1
        model = LinearSVC(loss=loss, **options)
    else:
        y = score * 10.0 ** rng.uniform(-3, 3) + rng.choice([0.0, 1e4])
        model = LinearSVR(loss=loss, epsilon=float(rng.choice([0.0, 0.1])), **options)
    return model, (sp.csr_array(X) if sparse else X), y, weight


def primal_of(model, X, y, weight):
    """Objective of the model's own coef_ and intercept_, from the textbook."""
    X = (X.toarray() if sp.issparse(X) else X).astype(LONG)
    w, bias = np.ravel(model.coef_).astype(LONG), LONG(np.ravel(model.intercept_)[0])
    u = X @ w + bias
    xi = 1 - np.where(y == 1, 1, -1) * u if model.loss in CLASSIFIERS else np.abs(y - u) - LONG(model.epsilon)
    C = LONG(model.C) * (np.ones(len(y), LONG) if weight is None else weight.astype(LONG))
    power = 2 if "squared" in model.loss else 1
    penalty = (bias / LONG(model.intercept_scaling)) ** 2 if model.fit_intercept and model.penalize_intercept else 0
    return (w @ w + penalty) / 2 + (C * np.maximum(xi, 0) ** power).sum()


def dual_of(model, X, y, weight, beta):
    """Dual value of multipliers brought into the box and to sum zero, and the size of its largest sum."""
    X = (X.toarray() if sp.issparse(X) else X).astype(LONG)
    C = LONG(model.C) * (np.ones(len(y), LONG) if weight is None else weight.astype(LONG))
    b = beta.astype(LONG)
    squared, classes = "squared" in model.loss, model.loss in CLASSIFIERS
    top = np.full(len(y), np.inf, LONG) if squared else C
    sign = np.where(y == 1, 1, -1)
    lower = np.where(sign > 0, 0, -top) if classes else -top
    upper = np.where(sign > 0, top, 0) if classes else top
    b = np.clip(b, lower, upper)
    free = model.fit_intercept and not model.penalize_intercept
    if free and b.sum() != 0:
        heavier = b > 0 if b.sum() > 0 else b < 0
        b[heavier] *= 1 - abs(b.sum()) / np.abs(b[heavier]).sum()
    v = X.T @ b
    tau = LONG(model.intercept_scaling) if model.fit_intercept and not free else 0
    target = sign if classes else y.astype(LONG)
    value = target @ b - (v @ v + (tau * b.sum()) ** 2) / 2
    value -= 0 if classes else LONG(model.epsilon) * np.abs(b).sum()
    return value - ((b * b / (4 * C)).sum() if squared else 0), np.abs(target) @ np.abs(b)


@pytest.fixture
def multipliers(monkeypatch):
    """A function that gives the multipliers behind a certificate."""
    seen, original = [], certify_module.Judge.certificate

    def record(judge, answer, seconds):
        certificate = original(judge, answer, seconds)
        seen.append((certificate, answer.beta))
        return certificate

    monkeypatch.setattr(certify_module.Judge, "certificate", record)
    return lambda certificate: next(beta for found, beta in seen if found is certificate)


@pytest.mark.parametrize("block", range(10))
def test_claims_are_true_and_failures_are_loud(block, multipliers):
    outcomes = []
    for seed in range(20 * block, 20 * block + 20):
        model, X, y, weight = random_fit(seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, y, weight)
        certificate = model.certificate_
        primal, (dual, mass) = primal_of(model, X, y, weight), dual_of(model, X, y, weight, multipliers(certificate))
        size = max(abs(primal), abs(dual))
        slack = SLACK * max(size, mass)
        assert certificate.primal >= primal - SLACK * primal, seed
        assert certificate.dual <= dual + slack, seed
        assert certificate.gap * size >= primal - dual - slack, seed
        if certificate.holds:
            assert primal - dual <= certificate.tol * size + slack, seed
            assert model.status_ is Status.OPTIMAL, seed
        assert bool(caught) == (not certificate.holds), seed
        outcomes.append(certificate.holds)
    assert sum(outcomes) >= 12  # scales, C and tolerances are hostile; most fits are still proven


def joint_or_sparse_fit(seed):
    """A fit with the l1 penalty or of the joint machine, on data of random scale."""
    rng = np.random.default_rng(seed)
    n, d, K = int(rng.integers(6, 80)), int(rng.integers(1, 12)), int(rng.integers(2, 5))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 3)
    X *= rng.random((n, d)) < 0.7
    y = rng.permutation(np.arange(n) % K)
    X += rng.choice([0.0, 1.0]) * np.abs(X).max() * np.eye(K, d)[y]
    kind = {"penalty": "l1"} if seed % 2 else {"multi_class": "crammer_singer"}
    kind |= [{}, {"intercept_scaling": 3.7}, {"fit_intercept": False}][int(rng.integers(3))]
    weight = None if rng.random() < 0.5 else 10.0 ** rng.uniform(-2, 2, n)
    C, tol = 10.0 ** rng.uniform(-3, 3), float(rng.choice([1e-2, 1e-4, 1e-6]))
    return LinearSVC(C=C, tol=tol, max_iter=300, **kind), (sp.csr_array(X) if rng.random() < 0.4 else X), y, weight


def joint_primal(model, X, y, C):
    """Objectives of one machine per class (l1), or of the joint one, at the model's own weights."""
    W, bias = model.coef_.astype(LONG), np.broadcast_to(model.intercept_, len(model.coef_)).astype(LONG)
    u = X @ W.T + bias
    tau = LONG(model.intercept_scaling if model.fit_intercept else 1)
    if model.penalty == "l1":
        signs = np.where(y[:, None] == (np.arange(len(W)) if len(W) > 1 else 1), 1, -1)
        losses = (C[:, None] * np.maximum(0, 1 - signs * u) ** 2).sum(axis=0)
        return np.abs(W).sum(axis=1) + np.abs(bias) / tau + losses
    if len(W) == 1:
        W, bias, u = np.vstack([-W, W]) / 2, np.hstack([-bias, bias]) / 2, np.hstack([-u, u]) / 2
    wrong = np.arange(len(W)) != y[:, None]
    losses = C * ((u + wrong).max(axis=1) - u[np.arange(len(y)), y])
    return np.array([((W**2).sum() + ((bias / tau) ** 2).sum()) / 2 + losses.sum()])


@pytest.mark.parametrize("block", range(4))
def test_claims_of_l1_and_joint_machines_are_true(block):
    held = 0
    for seed in range(10 * block, 10 * block + 10):
        model, X, y, weight = joint_or_sparse_fit(seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, y, weight)
            tight = type(model)(**model.get_params()).set_params(tol=1e-9, max_iter=3000).fit(X, y, weight)
        dense = (X.toarray() if sp.issparse(X) else X).astype(LONG)
        C = LONG(model.C) * (np.ones(len(y), LONG) if weight is None else weight.astype(LONG))
        values, best = joint_primal(model, dense, y, C), joint_primal(tight, dense, y, C)
        for certificate, closer, value, low in zip(model.certificates_, tight.certificates_, values, best, strict=True):
            assert certificate.primal >= value * (1 - SLACK), seed
            assert closer.primal >= low * (1 - SLACK), seed
            assert certificate.dual <= low * (1 + SLACK), seed  # no lower bound above a value that is reached
            assert closer.dual <= value * (1 + SLACK), seed
            if certificate.holds:
                assert value - low <= certificate.tol * value * (1 + SLACK), seed
        messages = [str(w.message) for w in caught]
        assert any(f"tol={model.tol:g}" in text for text in messages) == (not model.certificate_.holds), seed
        held += model.certificate_.holds
    assert held >= 6
