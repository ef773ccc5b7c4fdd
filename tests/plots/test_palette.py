"""Colours stay apart for people with colour-blindness, and stand out from light and from dark paper."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from widemargin import SVC
from widemargin.plots import plot_boundary
from widemargin.plots.palette import MARKERS, ON_DARK, ON_LIGHT, theme_of

# Machado, Oliveira & Fernandes (2009), table 1, severity 1.0: linear RGB as seen with each kind of colour-blindness
SEEN = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}
APART = 12.0  # CIE76 distance; 2.3 is just noticeable side by side
STANDING_OUT = 2.0  # contrast ratio with the paper; markers are filled areas, not letters


def linear(colour):
    rgb = np.array(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ np.clip(rgb, 0, 1)
    t = np.cbrt(xyz / [0.9505, 1.0, 1.089])
    return np.array([116 * t[1] - 16, 500 * (t[0] - t[1]), 200 * (t[1] - t[2])])


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("colours", [ON_LIGHT, ON_DARK], ids=["light", "dark"])
def test_the_first_six_colours_stay_apart(colours, seen):
    places = [lab(np.array(SEEN[seen]) @ linear(colour)) for colour in colours[:6]]
    distance = min(np.linalg.norm(a - b) for a, b in itertools.combinations(places, 2))
    assert distance > APART


@pytest.mark.parametrize(("colours", "paper"), [(ON_LIGHT, 1.0), (ON_DARK, 0.0)], ids=["light", "dark"])
def test_colours_stand_out_from_the_paper(colours, paper):
    for colour in colours:
        luminance = float(np.dot((0.2126, 0.7152, 0.0722), linear(colour)))
        contrast = (max(luminance, paper) + 0.05) / (min(luminance, paper) + 0.05)
        assert contrast > STANDING_OUT


def test_colour_and_marker_together_come_twice_only_after_ninety_classes():
    theme = theme_of(plt.subplots()[1])
    looks = {(theme.colour(k), theme.marker(k)) for k in range(len(ON_LIGHT) * len(MARKERS))}
    assert len(looks) == 90


@pytest.mark.parametrize(
    ("axes", "figure", "dark"),
    [("white", "white", False), ("black", "white", True), ("none", "#111111", True), ("none", "none", False)],
)
def test_the_theme_is_read_off_the_paper(axes, figure, dark):
    page, ax = plt.subplots()
    page.set_facecolor(figure)
    ax.set_facecolor(axes)
    assert (theme_of(ax).colours is ON_DARK) == dark


def test_legends_and_notes_fit_narrow_axes(moons):
    X, y = moons
    wide = np.column_stack([X, X[:, ::-1], X**2])
    model = SVC().fit(wide, y)
    figure, axes = plt.subplots(1, 3, figsize=(12.0, 4.0))
    ax = plot_boundary(model, wide, y, ax=axes[1], features="pca", resolution=40)
    figure.canvas.draw()
    drawn = ax.get_legend().get_window_extent()
    assert ax.get_title(loc="left").count("\n") == 1
    assert drawn.x0 >= axes[0].get_window_extent().x1 and drawn.x1 <= axes[2].get_window_extent().x0


def test_pictures_follow_dark_styles(moons):
    X, y = moons
    model = SVC().fit(X, y)
    with plt.style.context("dark_background"):
        ax = plot_boundary(model, X, y, resolution=60)
    colours = {part.get_label(): part.get_facecolor() for part in ax.collections}
    np.testing.assert_allclose(colours["class 0"][0, :3], to_rgb(ON_DARK[0]))
    at_zero = ax.images[0].cmap(0.5)[:3]
    assert max(at_zero) < 0.05  # the paper shows at the boundary
