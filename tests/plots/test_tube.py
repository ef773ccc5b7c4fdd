"""The tube: its walls are epsilon from the curve, samples outside are tied to them."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as TheirSVC
from sklearn.svm import NuSVR as TheirNuSVR

from widemargin import SVR, NuSVR
from widemargin.plots import TubeDisplay, plot_tube


@pytest.fixture(scope="module")
def wave():
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0.0, 6.0, 60))[:, None]
    return X, np.sin(X[:, 0]) + 0.2 * rng.normal(size=60)


def drawn(ax, label):
    return next(np.asarray(part.get_offsets()) for part in ax.collections if part.get_label() == label)


def test_walls_curve_rings_and_slack(wave):
    X, y = wave
    model = SVR(C=3.0, epsilon=0.2, gamma=0.7, tol=1e-5).fit(X, y)
    ax = plot_tube(model, X, y)
    low, high, curve = (line.get_ydata() for line in ax.lines[:3])
    np.testing.assert_allclose(high - curve, 0.2)
    np.testing.assert_allclose(curve - low, 0.2)
    np.testing.assert_allclose(curve, model.predict(ax.lines[2].get_xdata()[:, None]))
    bounded = np.abs(model.dual_coef_[0]) == 3.0
    support = np.column_stack([X[:, 0], y])[model.support_]
    np.testing.assert_array_equal(drawn(ax, "support vector at its bound"), support[bounded])
    np.testing.assert_array_equal(drawn(ax, "support vector on the wall (free)"), support[~bounded])
    segments = next(part for part in ax.collections if part.get_label() == "slack").get_segments()
    lengths = sorted(abs(b[1] - a[1]) for a, b in segments)
    error = np.abs(y - model.predict(X)) - 0.2
    np.testing.assert_allclose(lengths, sorted(error[error > 2e-3]), atol=2e-3)


def test_the_tube_of_a_nu_machine_is_found(wave):
    X, y = wave
    ours = NuSVR(nu=0.4, C=3.0, gamma=0.7, tol=1e-6).fit(X, y)
    theirs = TheirNuSVR(nu=0.4, C=3.0, gamma=0.7, tol=1e-6).fit(X, y)
    assert TubeDisplay.from_estimator(ours, X, y).epsilon == ours.epsilon_
    assert TubeDisplay.from_estimator(theirs, X, y).epsilon == pytest.approx(ours.epsilon_, abs=1e-4)


def test_many_features_along_one_or_against_the_prediction(wave, rng):
    pandas = pytest.importorskip("pandas")
    X, y = wave
    frame = pandas.DataFrame({"time": X[:, 0], "noise": rng.normal(size=60), "more": rng.normal(size=60)})
    model = make_pipeline(StandardScaler(), SVR(epsilon=0.2)).fit(frame, y)
    ax = plot_tube(model, frame, y)
    np.testing.assert_allclose(drawn(ax, "samples"), np.column_stack([model.predict(frame), y]))
    assert ax.get_xlabel() == "prediction f(x)"
    ax = plot_tube(model, frame, y, feature="time")
    assert ax.get_title(loc="left") == "section: 2 other features at the medians"
    along, curve = ax.lines[2].get_data()
    section = pandas.DataFrame({"time": along, "noise": frame["noise"].median(), "more": frame["more"].median()})
    np.testing.assert_allclose(curve, model.predict(section))
    assert not any(part.get_label() == "slack" for part in ax.collections)  # of a section lengths mean nothing
    with pytest.raises(ValueError, match="no feature 'colour'"):
        plot_tube(model, frame, y, feature="colour")
    with pytest.raises(ValueError, match="no feature number 3"):
        plot_tube(model, frame, y, feature=3)


def test_many_support_vectors_are_counted_instead_of_ringed(rng):
    X = rng.normal(size=(400, 1))
    y = rng.normal(size=400)
    model = SVR(epsilon=0.01).fit(X, y)
    ax = plot_tube(model, X, y)
    assert ax.get_title(loc="left") == f"{len(model.support_)} support vectors, not ringed"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["tube, ±0.01", "samples", "f(x)"]


def test_other_data_and_other_machines(wave):
    X, y = wave
    model = SVR(epsilon=0.2).fit(X, y)
    fresh = TubeDisplay.from_estimator(model, X[:20], y[:20])
    assert not fresh.support.any() and fresh.epsilon == 0.2
    plain = TubeDisplay.from_estimator(LinearRegression().fit(X, y), X, y).plot()
    assert np.isnan(plain.epsilon) and len(plain.ax_.lines) == 1
    with pytest.raises(ValueError, match="SVC is no regression"):
        plot_tube(TheirSVC().fit(X, y > 0), X, y)
    with pytest.raises(ValueError, match="X has 60 samples but y has 59"):
        plot_tube(model, X, y[1:])
