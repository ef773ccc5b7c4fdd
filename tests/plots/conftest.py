"""What tests of pictures share: no screen, closed figures, and how to read what was drawn."""

import matplotlib
import pytest
from sklearn.datasets import make_moons

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(scope="session")
def moons():
    """90 points of two overlapping half circles."""
    return make_moons(90, noise=0.25, random_state=1)
