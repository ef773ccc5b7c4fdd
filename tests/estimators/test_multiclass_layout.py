"""Layout of many-class machines: LIBSVM's one against one, one against rest, votes and ties."""

import numpy as np
import pytest
import sklearn.svm
from sklearn.datasets import make_blobs

from widemargin import SVC
from widemargin.kernels import Gaussian
from widemargin.models.expansion import Expansion
from widemargin.models.multiclass import lay_out, one_against_rest_confidence, read_out, two_class_problems, votes


def test_pairs_by_hand():
    labels = np.array([2, 0, 1, 0, 2])
    problems = two_class_problems(labels, 3, "ovo")
    assert [(p.positive, p.negative) for p in problems] == [(0, 1), (0, 2), (1, 2)]
    assert [p.index.tolist() for p in problems] == [[1, 3, 2], [1, 3, 0, 4], [2, 0, 4]]
    assert [p.sign.tolist() for p in problems] == [[1, 1, -1], [1, 1, -1, -1], [1, -1, -1]]


def test_layout_by_hand():
    labels = np.array([2, 0, 1, 0, 2])
    problems = two_class_problems(labels, 3, "ovo")
    betas = [np.array([1.0, 0.0, -1.0]), np.array([2.0, 0.0, -0.5, -1.5]), np.array([3.0, -3.0, 0.0])]
    layout = lay_out(problems, np.concatenate(betas), labels, 3)
    assert layout.support.tolist() == [1, 2, 0, 4]  # class 0, class 1, class 2, in the order of the data
    assert layout.n_support.tolist() == [1, 1, 2]
    assert layout.coefficients.tolist() == [[1.0, -1.0, -0.5, -1.5], [2.0, 3.0, -3.0, 0.0]]
    back = read_out(problems, layout.support, layout.coefficients, labels)
    assert all(np.array_equal(a, b) for a, b in zip(back, betas, strict=True))


def test_class_by_class_product_equals_one_row_per_pair():
    rng = np.random.default_rng(0)
    vectors, new = rng.normal(size=(1500, 3)), rng.normal(size=(700, 3))
    starts = np.array([0, 400, 1100, 1500])
    coefficients, intercept = rng.normal(size=(2, 1500)), rng.normal(size=3)
    rows = np.zeros((3, 1500))
    for number, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        rows[number, starts[i] : starts[i + 1]] = coefficients[j - 1, starts[i] : starts[i + 1]]
        rows[number, starts[j] : starts[j + 1]] = coefficients[i, starts[j] : starts[j + 1]]
    kernel = Gaussian(0.5)
    by_class = Expansion(kernel, vectors, coefficients, intercept, starts).decision(new)
    by_pair = Expansion(kernel, vectors, rows, intercept).decision(new)
    np.testing.assert_allclose(by_class, by_pair, atol=1e-11)


def test_linear_weights_of_all_pairs(iris):
    X, y = iris
    ours = SVC(kernel="linear", tol=1e-7).fit(X, y)
    theirs = sklearn.svm.SVC(kernel="linear", tol=1e-7).fit(X, y)
    assert ours.coef_.shape == (3, 4)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    assert not ours.coef_.flags.writeable


def test_votes_and_confidence_as_sklearn():
    from sklearn.utils.multiclass import _ovr_decision_function

    values = np.random.default_rng(3).normal(size=(200, 6))
    np.testing.assert_allclose(
        one_against_rest_confidence(values, 4), _ovr_decision_function(values < 0, -values, 4), atol=1e-12
    )
    # 0 beats 1, 1 beats 2, 2 beats 0: three votes alike, the first class is taken
    assert votes(np.array([[1.0, -1.0, 1.0]]), 3).tolist() == [0]
    assert votes(np.array([[-1.0, -1.0, -1.0]]), 3).tolist() == [2]


def test_break_ties_follows_the_decision_function():
    X, y = make_blobs(random_state=27)
    low, high = X.min(axis=0), X.max(axis=0)
    grid = np.stack(np.meshgrid(*np.linspace(low, high, 60).T), -1).reshape(-1, 2)
    by_votes = SVC(kernel="linear").fit(X, y)
    by_values = SVC(kernel="linear", break_ties=True).fit(X, y)
    argmax = by_values.decision_function(grid).argmax(axis=1)
    np.testing.assert_array_equal(by_values.predict(grid), argmax)
    assert np.any(by_votes.predict(grid) != argmax)  # there are ties on this grid, else the test says nothing
    with pytest.raises(ValueError, match="break_ties must be False"):
        SVC(break_ties=True, decision_function_shape="ovo").fit(X, y).predict(X)


def test_one_against_rest(iris):
    X, y = iris
    machine = SVC(multi_class="ovr", gamma=0.3, tol=1e-7).fit(X, y)
    values = machine.decision_function(X)
    assert values.shape == (150, 3) and machine.dual_coef_.shape[0] == 3 and machine.intercept_.shape == (3,)
    for k in range(3):
        single = sklearn.svm.SVC(gamma=0.3, tol=1e-7).fit(X, y == k)
        np.testing.assert_allclose(values[:, k], single.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(machine.predict(X), values.argmax(axis=1))
    with pytest.raises(ValueError, match="multi_class='ovo'"):
        SVC(multi_class="ovr", decision_function_shape="ovo").fit(X, y)


def test_string_labels_keep_their_order(iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])
    by_name, by_number = SVC().fit(X, names[y]), SVC().fit(X, y)
    assert by_name.classes_.tolist() == names.tolist()
    np.testing.assert_array_equal(by_name.predict(X), names[by_number.predict(X)])
    np.testing.assert_array_equal(by_name.dual_coef_, by_number.dual_coef_)


def test_two_classes_positive_is_the_second(iris):
    X, y = iris
    machine = SVC(kernel="linear").fit(X[:100], y[:100])
    assert machine.n_support_.sum() == machine.dual_coef_.shape[1]
    first, second = np.split(machine.dual_coef_[0], [machine.n_support_[0]])
    assert (first < 0).all() and (second > 0).all()
    np.testing.assert_array_equal(machine.decision_function(X[:100]) > 0, y[:100] == 1)
