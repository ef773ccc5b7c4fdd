"""Decision values do not depend on the batch, and labels from float32 kernel values are those of exact arithmetic."""

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin.kernels import Gaussian, Laplacian, Linear, Polynomial
from widemargin.models import single_precision
from widemargin.models.expansion import Expansion
from widemargin.models.multiclass import sure_largest, sure_sign, sure_votes, votes
from widemargin.models.two_value_rows import rows_of_two_values

LONG = np.longdouble
N_SUPPORT = single_precision.WORTH_SINGLE + 30
PERIOD = 128  # different rows; it divides the tiles, so that each of them begins with the first
N_ROWS = single_precision.WORTH_SINGLE + 300


def data(kind, rng, n):
    """Samples for one way of evaluating; rows are shuffled kinds of their own where batches could matter."""
    if kind == "few features":
        return rng.normal(size=(n, 5))
    if kind == "many features":
        return rng.normal(size=(n, 60))
    if kind == "offset":
        return rng.normal(size=(n, 40)) + 1e4
    if kind == "far group":
        return rng.normal(size=(n, 30)) + np.where(rng.random((n, 1)) < 0.1, 300.0, 0.0)
    if kind == "heavy tails":
        return rng.standard_t(1.0, size=(n, 30))
    if kind in ("bits", "bits and others"):
        X = (rng.random((n, 40)) < 0.3).astype(float)
    elif kind in ("signs", "signs and others"):
        X = rng.choice([-1.0, 1.0], size=(n, 40))
    elif kind in ("sparse bits", "sparse bits and others"):
        return sp.csr_array(data(kind.removeprefix("sparse "), rng, n))
    else:
        X = np.where(rng.random((n, 700)) < 0.03, rng.random((n, 700)), 0.0)
        if kind == "sparse counts and others":  # whole numbers in most rows only
            X = np.where(rng.random((n, 1)) < 0.9, np.rint(5 * X), X)
        return sp.csr_array(X)
    if kind.endswith("others"):
        X[rng.random(n) < 0.05, 3] = 0.4
    return X


BATCHES = ["few features", "many features", "offset", "bits and others", "signs and others", "sparse bits and others",
           "sparse"]  # fmt: skip


@pytest.mark.parametrize("kind", BATCHES)
@pytest.mark.parametrize(
    "kernel",
    [Gaussian(0.02), Laplacian(0.01), Polynomial(3, 0.01, 1.0), Gaussian(0.02) + 0.1 * Linear(), Linear()],
    ids=repr,
)
@pytest.mark.parametrize("outputs", [1, 3])
def test_a_row_has_one_value_in_every_batch(kernel, kind, outputs, rng):
    vectors, X = data(kind.removesuffix(" and others"), rng, 300), data(kind, rng, 600)
    coefficients = rng.normal(size=(outputs, 300))
    f = Expansion(kernel, vectors, coefficients, np.zeros(outputs))
    whole = f.decision(X)
    mass = np.abs(kernel(X, vectors)) @ np.abs(coefficients).T
    allowed = 1e-12 * mass
    order = rng.permutation(600)
    assert (np.abs(f.decision(X[order]) - whole[order]) <= allowed[order]).all()
    for step in (1, 17, 256):
        some = range(0, 120 if step == 1 else 600, step)
        parts = np.vstack([f.decision(X[start : start + step]) for start in some])
        assert (np.abs(parts - whole[: len(parts)]) <= allowed[: len(parts)]).all()
    single = X.astype(np.float32)
    np.testing.assert_array_equal(f.decision(single), f.decision(single.astype(np.float64)))


@pytest.mark.parametrize("kind", ["bits", "signs", "sparse bits"])
def test_rows_of_bits_are_evaluated_as_bits_in_any_company(kind, rng):
    f = Expansion(Gaussian(30.0), data(kind, rng, 300), rng.normal(size=(1, 300)), np.zeros(1))
    X = data(f"{kind} and others", rng, 500)
    as_bits = rows_of_two_values(X, (-1.0, 1.0) if kind == "signs" else (0.0, 1.0))
    assert 0 < np.count_nonzero(~as_bits) < 100
    np.testing.assert_array_equal(f.decision(X)[as_bits], f.decision(X[as_bits]))


def exact_gaussian(gamma, X, Z):
    """The kernel in extended precision by direct differences."""
    X, Z = (np.asarray(part.toarray() if sp.issparse(part) else part, LONG) for part in (X, Z))
    squared = np.zeros((len(X), len(Z)), LONG)
    for x, z in zip(X.T, Z.T, strict=True):
        if x.any() or z.any():
            squared += (x[:, None] - z) ** 2
    return np.exp(-LONG(gamma) * squared)


HOSTILE = ["few features", "many features", "offset", "far group", "heavy tails", "sparse counts and others"]


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("scale", [1.0, 1e4])
@pytest.mark.parametrize("pairs", [False, True])
def test_float32_values_are_within_their_bounds_and_labels_are_exact(kind, scale, pairs, rng):
    gamma = {"few features": 0.3, "heavy tails": 0.1}.get(kind, 0.02)
    vectors = data(kind, rng, 150)[np.arange(N_SUPPORT) % 150]
    X = data(kind, rng, PERIOD)[np.arange(N_ROWS) % PERIOD]
    starts = [0, 400, 700, N_SUPPORT] if pairs else None
    coefficients = scale * rng.normal(size=(2 if pairs else 1, N_SUPPORT))
    f = Expansion(Gaussian(gamma), vectors, coefficients, 0.1 * rng.normal(size=3 if pairs else 1), starts)
    K = exact_gaussian(gamma, X[:PERIOD], vectors[:150])[:, np.arange(N_SUPPORT) % 150]
    parts = [K[:, a:b] @ coefficients[:, a:b].T.astype(LONG) for a, b in zip(starts, starts[1:])] if pairs else []
    if pairs:
        truth = np.column_stack([parts[i][:, j - 1] + parts[j][:, i] for i in range(3) for j in range(i + 1, 3)])
    else:
        truth = K @ coefficients.T.astype(LONG)
    truth = truth + f.intercept
    seen = []

    def choose_surely(values, errors):
        if len(values) > single_precision.TRIED_ROWS:
            seen.append((values[:PERIOD], errors[:PERIOD]))
        return sure_votes(values, errors, 3) if pairs else sure_sign(values, errors)

    def choose(values):
        return votes(values, 3) if pairs else (values[:, 0] >= 0).astype(np.intp)

    found, not_finite = single_precision.find_classes(f, X, choose, choose_surely, n_jobs=1)
    assert not len(not_finite)
    for values, errors in seen:
        assert (np.abs(values - truth[: len(values)]) <= errors).all()
    np.testing.assert_array_equal(found, np.resize(choose(truth), N_ROWS))
    if kind == "few features" and scale == 1.0:
        assert seen and (seen[0][1] < 0.02).all()


@pytest.mark.parametrize("whole", ["rows", "support vectors"])
@pytest.mark.parametrize("kernel", [1.0 * Linear(), Polynomial(1, 1.0, 0.0)], ids=repr)
def test_whole_numbers_on_one_side_make_no_exact_products(kernel, whole, rng):
    vectors, X = data("sparse", rng, N_SUPPORT), data("sparse", rng, N_ROWS)
    counts = X if whole == "rows" else vectors
    counts.data[:] = np.ceil(1000 * counts.data)
    coefficients = rng.normal(size=(1, N_SUPPORT))
    f = Expansion(kernel, vectors, coefficients, np.zeros(1))
    truth = X.toarray().astype(LONG) @ (coefficients.astype(LONG) @ vectors.toarray().astype(LONG)).T
    seen = []

    def choose_surely(values, errors):
        seen.append((values, errors))
        return sure_sign(values, errors)

    single_precision.find_classes(f, X, lambda values: values[:, 0] > 0, choose_surely, n_jobs=1)
    (_, _), *parts = seen
    values, errors = (np.vstack(part) for part in zip(*parts))
    assert len(values) == N_ROWS
    assert (np.abs(values - truth) <= errors).all()
    assert (np.abs(values - truth) > 0).any()


@pytest.mark.parametrize("scale", [1e-20, 1e12])
def test_what_overflows_in_float32_is_evaluated_in_float64(scale, rng):
    vectors, X = scale * rng.normal(size=(N_SUPPORT, 4)), scale * rng.normal(size=(N_ROWS, 4))
    coefficients = rng.normal(size=(1, N_SUPPORT)) / scale**3
    f = Expansion(Polynomial(3, 1.0, 0.0), vectors, coefficients, np.zeros(1))
    found, not_finite = single_precision.find_classes(f, X, lambda values: values[:, 0] > 0, sure_sign)
    assert not len(not_finite)
    truth = (X.astype(LONG) @ vectors.T.astype(LONG)) ** 3 @ coefficients[0].astype(LONG)
    clear = np.abs(truth) > 1e-10 * np.abs(truth).max()
    np.testing.assert_array_equal(found[clear], truth[clear] > 0)


def test_rows_in_doubt_are_few_or_all_go_to_float64(rng):
    vectors, X = rng.normal(size=(N_SUPPORT, 8)), rng.normal(size=(N_ROWS, 8))
    tried = []

    def choose_surely(values, errors):
        tried.append(len(values))
        return sure_sign(values, errors)

    def run(coefficients):
        f = Expansion(Gaussian(0.1), vectors, coefficients, np.zeros(1))
        tried.clear()
        found, _ = single_precision.find_classes(f, X, lambda values: values[:, 0] > 0, choose_surely)
        np.testing.assert_array_equal(found, f.decision(X)[:, 0] > 0)
        return sum(tried)

    assert run(np.sign(vectors[:, :1]).T) == N_ROWS + single_precision.TRIED_ROWS
    cancelling = 1e6 * np.tile([[1.0, -1.0]], N_SUPPORT // 2)
    vectors[1::2] = vectors[::2] + 1e-7 * rng.normal(size=(N_SUPPORT // 2, 8))
    assert run(cancelling) == single_precision.TRIED_ROWS


@pytest.mark.parametrize("tie_order", [None, np.array([2, 0, 3, 1])])
def test_sure_votes_are_those_of_every_combination_of_signs(tie_order, rng):
    values, errors = rng.normal(size=(400, 6)), rng.exponential(0.4, size=(400, 6))
    found, certain = sure_votes(values, errors, 4, tie_order)
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * 6)).reshape(6, -1).T
    possible = np.array([votes(values + corner * errors, 4, tie_order) for corner in corners])
    assert (possible[:, certain] == found[certain]).all()
    all_sure = (np.abs(values) > errors).all(axis=1)
    assert certain[all_sure].all()
    assert (certain & ~all_sure).any()  # doubts that cannot change the vote do not count
    assert not certain[(possible != possible[0]).any(axis=0)].any()


def test_sure_largest(rng):
    values, errors = rng.normal(size=(200, 3)), rng.exponential(0.3, size=(200, 3))
    found, certain = sure_largest(values, errors)
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T
    possible = np.array([(values + corner * errors).argmax(axis=1) for corner in corners])
    np.testing.assert_array_equal(certain, (possible == possible[0]).all(axis=0))
    assert (possible[0] == found)[certain].all()
    assert 0 < certain.sum() < 200


def test_nothing_is_certain_about_nan_and_infinite_bounds():
    values, errors = np.array([[np.nan], [1.0], [np.inf]]), np.array([[0.0], [np.inf], [np.inf]])
    assert not sure_sign(values, errors)[1].any()
    assert not sure_largest(np.tile(values, 3), np.tile(errors, 3))[1].any()
    assert not sure_votes(np.tile(values, 3), np.tile(errors, 3), 3)[1].any()
