"""Arrays of other libraries: anything with DLPack in main memory is read."""

import numpy as np
import pytest

from widemargin import SVC, SVR, KernelRidge, LinearSVC, LinearSVR, verify


class Foreign:
    """An array with the array API's protocol only: no `__array__`, no arithmetic."""

    def __init__(self, values, device=(1, 0)):
        self.values, self.device = values, device
        self.shape, self.dtype, self.ndim = values.shape, values.dtype, values.ndim

    def __array_namespace__(self, api_version=None):
        return np

    def __dlpack__(self, **options):
        if self.device != (1, 0):
            raise BufferError("the array is on another device")
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device

    def __len__(self):
        return len(self.values)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize(
    "model", [SVC(), LinearSVC(), SVR(), LinearSVR(), KernelRidge(kernel="rbf"), SVC(kernel="linear")]
)
def test_foreign_arrays_give_the_same_model(rng, model, dtype):
    X, y = (10 * rng.normal(size=(40, 3))).astype(dtype), np.arange(40) % 2
    expected = model.fit(X, y).predict(X)
    np.testing.assert_array_equal(model.fit(Foreign(X), Foreign(y)).predict(Foreign(X)), expected)


def test_weights_and_verify_take_foreign_arrays(rng):
    X, y, weight = rng.normal(size=(40, 3)), np.arange(40) % 2, rng.random(40) + 0.1
    model = SVC().fit(Foreign(X), Foreign(y), Foreign(weight))
    assert verify(model, Foreign(X), Foreign(y), Foreign(weight)).holds


def test_an_array_on_another_device_is_refused_with_a_sentence(rng):
    with pytest.raises(ValueError, match="move it to the CPU"):
        SVC().fit(Foreign(rng.normal(size=(6, 2)), device=(2, 0)), np.arange(6) % 2)
