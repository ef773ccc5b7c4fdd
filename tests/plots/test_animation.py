"""A fit as an animated picture: one frame per step, drawn from the recorded multipliers."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image
from sklearn.datasets import make_moons

from widemargin import SVC, steps
from widemargin.plots import animate
from widemargin.plots.animation import Frames, shown


@pytest.fixture(scope="module")
def fitted():
    X, y = make_moons(20, noise=0.2, random_state=1)
    return X, y, steps(SVC(solver="keerthi", C=5.0, tol=1e-8), X, y)


def test_a_frame_for_each_step(tmp_path, fitted):
    X, y, made = fitted
    animate(made, X, y, tmp_path / "few.gif", most=4, seconds=0.2)
    with Image.open(tmp_path / "few.gif") as film:
        assert film.n_frames == 4 and film.info["duration"] == 200
        first = np.asarray(film.convert("L"), np.int64)
        film.seek(3)
        assert np.abs(np.asarray(film.convert("L"), np.int64) - first).max() > 100


def test_which_steps_are_shown():
    assert shown(3, 5) == [0, 1, 2]
    assert shown(100, 6) == [0, 1, 2, 3, 51, 99]


@pytest.mark.parametrize("solver", ["keerthi", "adatron"])
def test_the_boundary_of_the_last_step_is_that_of_the_model(fitted, solver):
    X, y, _ = fitted
    made = steps(SVC(solver=solver, C=5.0, tol=1e-10), X, y, most=100_000)
    frames, ax = Frames(made, X, y), Figure().add_subplot()
    frames.draw_plane(ax, made[-1])
    drawn = frames.K @ (frames.sign * made[-1].multipliers) - made[-1].threshold
    places = np.stack([side.ravel() for side in np.meshgrid(*frames.sides)], axis=1)
    np.testing.assert_allclose(drawn, made.model.decision_function(places), atol=1e-8)


def test_the_parabola_has_its_top_where_the_step_goes(fitted):
    X, y, made = fitted
    step = next(step for step in made if not step.is_clipped)
    ax = Figure().add_subplot()
    Frames(made, X, y).draw_line(ax, step)
    curve, ends = ax.lines[0], ax.lines[-1]
    start, gain = ends.get_ydata()
    assert start == pytest.approx(0.0, abs=1e-12) and gain >= curve.get_ydata().max() - 1e-12
    before = made[step.number - 2].objective if step.number > 1 else 0.0
    assert gain == pytest.approx(step.objective - before, rel=1e-6)


def test_other_data_are_refused(tmp_path, fitted):
    X, y, made = fitted
    with pytest.raises(ValueError, match="two classes with two features, with the samples of that fit; got"):
        animate(made, X[:5], y[:5], tmp_path / "no.gif")
    for other in (y[:-1], y + 1, np.where(y == 1, "a", "b")):
        with pytest.raises(ValueError, match="y must be the classes of the fit, 0 and 1, one for each sample"):
            animate(made, X, other, tmp_path / "no.gif")
    precomputed = steps(SVC(kernel="precomputed", solver="platt"), X @ X.T, y, most=2)
    with pytest.raises(ValueError, match="'precomputed' has not"):
        animate(precomputed, X, y, tmp_path / "no.gif")


@pytest.mark.parametrize(
    "settings", [{"most": 0}, {"most": -1}, {"seconds": 0.0}, {"seconds": -1}, {"seconds": np.nan}]
)
def test_numbers_that_make_no_film_are_refused(tmp_path, fitted, settings):
    X, y, made = fitted
    with pytest.raises(ValueError, match="most must be 1 or more and seconds positive"):
        animate(made, X, y, tmp_path / "no.gif", **settings)
