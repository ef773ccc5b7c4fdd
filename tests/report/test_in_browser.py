"""The report in a browser: Chromium lays it out, in light and in dark, and finds everything a person would see."""

import shutil
import subprocess

import matplotlib.image
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from tests.report.reading import Page
from widemargin import SVC
from widemargin.report import write_report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")


def browse(tmp_path, page, *flags):
    """What Chromium prints about a page, with a profile of its own."""
    profile = tmp_path / "profile"
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "--hide-scrollbars", *flags, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A report on two classes with probabilities."""
    X, y = load_breast_cancer(return_X_y=True)
    model = SVC(probability=True, random_state=0).fit(X[::3], y[::3])
    return write_report(model, X[1::3], y[1::3], tmp_path_factory.mktemp("report") / "page.html", title="In a browser")


def test_the_browser_finds_what_was_written(tmp_path, page):
    seen = Page(browse(tmp_path, page, "--dump-dom"))
    written = Page(page.read_text(encoding="utf-8"))
    assert seen.headings == written.headings
    assert seen.tables == written.tables
    assert seen.figures == written.figures
    assert seen.tiles == written.tiles
    assert seen.tiles["Accuracy"].endswith("%")


def test_light_and_dark(tmp_path, page):
    pictures = []
    for number, scheme in enumerate(([], ["--blink-settings=preferredColorScheme=0"])):
        shot = tmp_path / f"{number}.png"
        browse(tmp_path, page, "--window-size=1000,3600", f"--screenshot={shot}", *scheme)
        pictures.append(matplotlib.image.imread(shot)[..., :3])
    light, dark = pictures
    assert light[5, 5].min() > 0.95  # the paper
    assert dark[5, 5].max() < 0.15
    for picture, paper in ((light, light[5, 5]), (dark, dark[5, 5])):
        marked = np.abs(picture - paper).max(axis=2) > 0.25
        assert 0.01 < marked.mean() < 0.4  # there is something to see, and it does not cover the page
        rows = marked.any(axis=1)
        assert rows[:3000].reshape(-1, 500).any(axis=1).all()  # from top to bottom
        assert not marked[:, -12:].any()  # nothing runs over the right edge
    blue = (light[..., 2] - light[..., 0] > 0.4).sum()
    assert blue > 1500  # the lines of the charts and the cells of the confusion matrix
