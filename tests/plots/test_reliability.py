"""Probabilities against frequencies: bins, Brier score, calibration error, and where the probabilities come from."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics import brier_score_loss

from widemargin import SVC, SVCCV
from widemargin.plots import ReliabilityDisplay, plot_reliability


def test_bins_by_hand():
    y = ["no", "yes", "yes", "no", "yes"]
    display = ReliabilityDisplay.from_predictions(y, [0.1, 0.3, 0.9, 0.9, 1.0], n_bins=2)
    np.testing.assert_allclose(display.probability, [0.2, 2.8 / 3])
    np.testing.assert_allclose(display.share, [0.5, 2 / 3])
    assert display.count.tolist() == [2, 3]
    assert display.calibration_error == pytest.approx((2 * 0.3 + 3 * (2.8 / 3 - 2 / 3)) / 5)
    assert display.brier_score == pytest.approx(brier_score_loss([0, 1, 1, 0, 1], [0.1, 0.3, 0.9, 0.9, 1.0]))


def test_perfectly_calibrated_probabilities_have_a_small_error(rng):
    p = rng.random(20_000)
    display = ReliabilityDisplay.from_predictions(rng.random(20_000) < p, p)
    assert display.calibration_error < 0.02 and display.brier_score == pytest.approx(1 / 6, abs=0.01)
    skewed = ReliabilityDisplay.from_predictions(rng.random(20_000) < p**3, p)
    assert skewed.calibration_error > 0.2


def test_a_tuned_model_is_judged_by_held_out_values():
    X, y = make_moons(200, noise=0.4, random_state=0)
    model = SVCCV(Cs=[1e4], gammas=[50.0], cv=5, random_state=0).fit(X, y)  # overfits on purpose
    display = ReliabilityDisplay.from_estimator(model, X, y)
    assert display.is_held_out and display.count.sum() == 200
    seen = ReliabilityDisplay.from_predictions(y, (model.decision_function(X) > 0).astype(float))
    assert seen.brier_score < 0.01 < 0.1 < display.brier_score
    assert "held-out samples" in plot_reliability(model, None, y).get_title(loc="left")


def test_several_classes_and_models_with_probabilities():
    X, y = load_iris(return_X_y=True)
    display = ReliabilityDisplay.from_estimator(
        SVC(probability=True, random_state=0).fit(X[::2], y[::2]), X[1::2], y[1::2]
    )
    assert not display.is_held_out and display.count.sum() == 75 and display.brier_score < 0.1
    held_out = ReliabilityDisplay.from_estimator(SVCCV(Cs=[1.0], gammas=[0.1], cv=3).fit(X, y), X, y)
    assert held_out.is_held_out and held_out.calibration_error < 0.1


def test_bad_input_gets_a_sentence():
    with pytest.raises(ValueError, match="numbers from 0 to 1 of shape"):
        ReliabilityDisplay.from_predictions([0, 1], [0.5, 1.5])
    with pytest.raises(ValueError, match="SVC gives no probabilities: fit with probability=True, or use SVCCV"):
        plot_reliability(SVC().fit([[0.0], [1.0]], [0, 1]), [[0.0], [1.0]], [0, 1])
