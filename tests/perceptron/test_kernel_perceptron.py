"""The kernel perceptron against a plain one on explicit vectors, its variants, its streams and its mistake bound."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import KernelPerceptron
from widemargin.estimators import perceptron as estimator
from widemargin.kernels import PairKernel, Spectrum
from widemargin.training.mistake_bound import MistakeBound

pytestmark = pytest.mark.needs_compiler  # too many fits for interpreted code


@pytest.mark.usefixtures("array_api")
@parametrize_with_checks([KernelPerceptron(), KernelPerceptron(variant="voted", kernel="linear")])
def test_contract_of_scikit_learn(estimator, check):
    check(estimator)


def plain_perceptron(X, y, n_passes):
    """Weight vectors of Rosenblatt's perceptron with how long each lasted, by the book."""
    w, vectors, survival = np.zeros(X.shape[1]), [], []
    for _ in range(n_passes):
        for x, label in zip(X, y, strict=True):
            if label * (w @ x) <= 0:
                w = w + label * x
                vectors.append(w)
                survival.append(0)
            if survival:
                survival[-1] += 1
    return np.array(vectors), np.array(survival, float)


def cloud(rng, n=80, gap=0.3):
    X = rng.uniform(-1, 1, size=(n, 2))
    y = np.where(X @ [1.0, 2.0] > 0.2, 1, -1)
    return X + 0.5 * gap * y[:, None] * np.array([1.0, 2.0]) / np.sqrt(5.0), y


@given(st.integers(0, 10_000), st.integers(1, 4), st.sampled_from([3, 17, 512]))
def test_all_variants_equal_the_perceptron_on_explicit_vectors(seed, n_passes, chunk):
    rng = np.random.default_rng(seed)
    X, y = cloud(rng, 30, gap=-0.2)  # overlapping: mistakes go on
    new = rng.uniform(-1, 1, size=(20, 2))
    augmented, new_augmented = np.column_stack([X, np.ones(30)]), np.column_stack([new, np.ones(20)])
    before = estimator.CHUNK
    estimator.CHUNK = chunk
    try:
        machines = {
            variant: KernelPerceptron(kernel="linear", variant=variant, max_iter=n_passes, shuffle=False).fit(X, y)
            for variant in ("last", "averaged", "voted")
        }
    finally:
        estimator.CHUNK = before
    vectors, survival = plain_perceptron(augmented, y, machines["last"].n_iter_)
    assert machines["last"].mistakes_.tolist() == [len(vectors)]
    expected = {
        "last": new_augmented @ vectors[-1],
        "averaged": new_augmented @ (survival @ vectors) / survival.sum(),
        "voted": np.sign(new_augmented @ vectors.T) @ survival / survival.sum(),
    }
    for variant, machine in machines.items():
        np.testing.assert_allclose(machine.decision_function(new), expected[variant], atol=1e-9)


@given(st.integers(0, 10_000))
def test_a_stream_in_parts_is_one_pass_over_the_whole(seed):
    rng = np.random.default_rng(seed)
    X, y = cloud(rng, 40)
    new = rng.uniform(-1, 1, size=(10, 2))
    for variant in ("averaged", "voted"):
        whole = KernelPerceptron(gamma=1.0, variant=variant, shuffle=False, max_iter=1).fit(X, y)
        parts = KernelPerceptron(gamma=1.0, variant=variant)
        for start in range(0, 40, 7):
            parts.partial_fit(X[start : start + 7], y[start : start + 7], classes=[-1, 1])
        np.testing.assert_array_equal(parts.mistakes_, whole.mistakes_)
        np.testing.assert_allclose(parts.decision_function(new), whole.decision_function(new), atol=1e-12)
        assert len(parts.support_vectors_) <= 40


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_mistakes_keep_to_the_bound_by_the_hard_margin_machine(kernel, seed):
    rng = np.random.default_rng(seed)
    X, y = cloud(rng, 60)
    machine = KernelPerceptron(kernel=kernel, gamma=0.5, coef0=1.0, max_iter=5000, random_state=seed).fit(X, y)
    assert np.mean(machine.set_params(variant="last").fit(X, y).predict(X) == y) == 1.0
    found = machine.mistake_bound(X, y)
    assert found.holds and found.mistakes == machine.mistakes_[0] > 0
    assert f"{found.mistakes} mistakes of at most" in str(found)
    assert found.bound == pytest.approx((found.radius / found.margin) ** 2)
    if kernel == "linear":
        assert found.radius == pytest.approx(np.sqrt((X**2).sum(axis=1).max() + 1))


def test_the_margin_of_the_bound_is_that_of_the_best_hyperplane():
    X, y = np.array([[1.0, 0.0], [3.0, 4.0], [-2.0, 0.0]]), [1, 1, 0]
    machine = KernelPerceptron(kernel="linear", fit_intercept=False).fit(X, y)
    found = machine.mistake_bound(X, y)
    best = max(min(np.array([1, 1, -1]) * (X @ [np.cos(t), np.sin(t)])) for t in np.linspace(-np.pi, np.pi, 100_001))
    assert found.margin == pytest.approx(best, rel=1e-5)
    assert found.radius == pytest.approx(5.0)


def test_data_that_nothing_separates_have_no_bound(rng):
    X, y = np.zeros((4, 2)), [0, 1, 0, 1]
    machine = KernelPerceptron(kernel="linear", max_iter=3).fit(X, y)
    found = machine.mistake_bound(X, y, time_limit=5.0)
    assert found.margin == 0.0 and found.bound == np.inf and found.holds
    assert "no hyperplane separates" in str(found)
    assert MistakeBound(1.0, 0.5, 4.0, 5).holds is False


def test_sparse_data_and_strings(rng):
    X, y = cloud(rng)
    dense = KernelPerceptron(kernel="linear", random_state=0).fit(X, y)
    thin = KernelPerceptron(kernel="linear", random_state=0).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.decision_function(sparse.csr_array(X)), dense.decision_function(X), atol=1e-9)
    words, labels = ["banana", "ananas", "cherry", "merry"], ["a", "a", "e", "e"]
    for kernel in (Spectrum(2), PairKernel(lambda a, b: float(len(set(a) & set(b))))):
        machine = KernelPerceptron(kernel=kernel, random_state=0).fit(words, labels)
        machine.partial_fit(["pear"], ["e"])
        assert machine.predict(["bandana", "sherry"]).tolist() == ["a", "e"]


def test_three_classes_one_against_the_rest(rng):
    X = np.concatenate([rng.normal(size=(30, 2)) * 0.3 + centre for centre in ([0, 0], [3, 0], [0, 3])])
    y = np.repeat(["x", "y", "z"], 30)
    for variant in ("last", "averaged", "voted"):
        machine = KernelPerceptron(gamma=0.5, variant=variant, random_state=0).fit(X, y)
        assert machine.decision_function(X).shape == (90, 3)
        assert np.mean(machine.predict(X) == y) > 0.95
    with pytest.raises(ValueError, match="two classes; this machine has 3"):
        machine.mistake_bound(X, y)


def test_what_cannot_be_learned_is_named():
    X, y = np.eye(3), [0, 1, 1]
    with pytest.raises(ValueError, match="greater than one"):
        KernelPerceptron().partial_fit(X, [1, 1, 1])
    machine = KernelPerceptron().partial_fit(X, y)
    with pytest.raises(ValueError, match="class np.int64\\(2\\), unknown so far|class 2, unknown so far"):
        machine.partial_fit(X, [2, 2, 2])
    with pytest.raises(ValueError, match="differ from those of the first call"):
        machine.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="must be a str among"):
        KernelPerceptron(kernel="precomputed").fit(X, y)
