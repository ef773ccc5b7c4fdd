"""One-class probabilities: LIBSVM's own, where it is installed; and what weights mean for them."""

import numpy as np
import pytest

from widemargin import OneClassSVM
from widemargin.calibration.one_class import density_marks, probability_of_normal

pytestmark = pytest.mark.needs_compiler


@pytest.fixture
def cloud():
    return np.random.default_rng(5).normal(size=(137, 3))


@pytest.mark.parametrize("nu", [0.3, 0.5])
def test_the_same_as_libsvm(nu, cloud):
    svmutil = pytest.importorskip("libsvm.svmutil", reason="libsvm-official is not installed")
    new = np.random.default_rng(6).normal(scale=1.5, size=(200, 3))
    model = svmutil.svm_train(np.ones(137), cloud, f"-s 2 -t 2 -g 0.4 -n {nu} -e 1e-9 -b 1 -q")
    _, _, theirs = svmutil.svm_predict(np.ones(200), new, model, "-b 1 -q")
    _, _, own = svmutil.svm_predict(np.ones(137), cloud, model, "-q")
    _, _, at_new = svmutil.svm_predict(np.ones(200), new, model, "-q")
    marks = density_marks(
        np.array(own)[:, 0], np.ones(137)
    )  # from its values, which rounding puts around zero as it likes
    np.testing.assert_allclose(marks, [model.prob_density_marks[k] for k in range(len(marks))], atol=1e-12)
    np.testing.assert_allclose(probability_of_normal(np.array(at_new)[:, 0], marks), np.array(theirs)[:, 0])
    machine = OneClassSVM(nu=nu, gamma=0.4, tol=1e-9).fit(cloud)
    np.testing.assert_allclose(machine.inlier_probability(new), np.array(theirs)[:, 0], atol=0.101)  # one bin apart


def test_far_is_unlikely_and_the_middle_is_likely(cloud):
    machine = OneClassSVM(nu=0.3, gamma=0.1).fit(cloud)
    far, middle = machine.inlier_probability([[9.0, 9.0, 9.0], [0.0, 0.0, 0.0]])
    assert far == 0.001 and middle >= 0.9
    values = machine.decision_function(cloud)
    assert np.all(np.diff(machine.inlier_probability(cloud)[np.argsort(values)]) >= 0.0)
    inside = machine.inlier_probability(cloud)[values > 0]
    assert inside.min() >= 0.5


def test_weights_are_repetitions(cloud):
    weight = np.random.default_rng(7).integers(0, 4, 137)
    values = np.random.default_rng(8).normal(size=137)
    np.testing.assert_array_equal(
        density_marks(values[weight > 0], weight[weight > 0].astype(float)),
        density_marks(np.repeat(values, weight), np.ones(weight.sum())),
    )
    np.testing.assert_allclose(density_marks(values, np.full(137, 0.01)), density_marks(values, np.ones(137)), atol=0.2)


def test_steps_of_a_tenth():
    marks = np.arange(10.0)
    found = probability_of_normal(np.array([-1.0, 0.0, 0.5, 1.0, 8.5, 9.0, 9.5]), marks)
    np.testing.assert_allclose(found, [0.001, 0.1, 0.1, 0.2, 0.9, 0.9, 0.999])


def test_too_few_on_one_side():
    machine = OneClassSVM(nu=0.01).fit(np.random.default_rng(0).normal(size=(30, 2)))
    with pytest.raises(ValueError, match="five training samples inside"):
        machine.inlier_probability([[0.0, 0.0]])
