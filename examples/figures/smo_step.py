"""One step of Platt's SMO: the pair, the parabola on its line, and the objective so far."""

from typing import Any

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from widemargin import SVC, steps
from widemargin.plots.animation import Frames

STEP = 15


def draw() -> Any:
    """Draw one frame of `widemargin.plots.animate`."""
    X, y = make_moons(40, noise=0.25, random_state=1)
    figure = plt.figure(figsize=(9.0, 4.6), layout="constrained")
    Frames(steps(SVC(C=5, solver="platt"), X, y), X, y).draw(figure, STEP)
    return figure
