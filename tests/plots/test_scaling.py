"""Exponents are those of the power law that made the times."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

from widemargin.plots import ScalingDisplay, plot_scaling

SIZES = np.array([100, 300, 1000, 2500])


@given(st.floats(0.2, 3.5), st.floats(1e-9, 1e3))
def test_the_exponent_is_found(exponent, factor):
    display = ScalingDisplay({"made up": (SIZES, factor * SIZES**exponent)})
    assert display.exponents["made up"] == pytest.approx(exponent, abs=1e-9)
    assert display.factors["made up"] == pytest.approx(factor, rel=1e-6)


def test_points_and_lines_and_legend():
    ax = plot_scaling({"slow": (SIZES, 1e-6 * SIZES**2.0), "once": ([500], [0.1])})
    points, fit, single = ax.lines
    np.testing.assert_array_equal(points.get_xdata(), SIZES)
    np.testing.assert_allclose(fit.get_ydata(), 1e-6 * SIZES[[0, -1]] ** 2.0)
    assert single.get_label() == "once"
    assert "2.00" in points.get_label() and points.get_marker() != single.get_marker()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["100", "300", "500", "1,000", "2,500"]


class Counting(BaseEstimator):
    """Remembers on how many samples it was fitted."""

    seen: list = []

    def fit(self, X, y=None):
        self.seen.append(len(X))
        return self


def test_measuring_fits_every_size_and_warms_up_once():
    Counting.seen.clear()
    display = ScalingDisplay.from_estimator({"it": Counting()}, np.zeros((64, 1)), repeats=2)
    assert Counting.seen == [4, 4, 4, 8, 8, 16, 16, 32, 32, 64, 64]
    np.testing.assert_array_equal(display.timings["it"][0], [4, 8, 16, 32, 64])
    with pytest.raises(ValueError, match="numbers of samples up to 64"):
        ScalingDisplay.from_estimator(Counting(), np.zeros((64, 1)), sizes=[100])


@pytest.mark.parametrize(("sizes", "times", "sentence"), [([1, 2], [1], "2 sizes and 1 times"), ([1], [0], "positive")])
def test_unusable_timings(sizes, times, sentence):
    with pytest.raises(ValueError, match=sentence):
        plot_scaling({"x": (sizes, times)})
