"""Pictures of fitted models. Needs matplotlib, which comes with `pip install 'widemargin[plots]'`.

Each picture is a function that returns the Axes, and a Display in the manner of scikit-learn that holds what is drawn:

    plot_boundary     BoundaryDisplay      boundary, margins, support vectors and slack; regions of many classes
    plot_tube         TubeDisplay          a regression with its tube
    plot_kkt          KKTDisplay           multipliers against positions: the optimality conditions
    plot_convergence  ConvergenceDisplay   objective, gap, violation and support vectors while training
    plot_kernel       KernelMatrixDisplay  the kernel matrix, sorted
    plot_grid_search  GridSearchDisplay    scores over C and gamma
    plot_reliability  ReliabilityDisplay   probabilities against frequencies, with Brier score and calibration error
    plot_scaling      ScalingDisplay       time against size, with exponents

`plot(model, X, y, kind=...)` draws any of them; `animate` writes the steps of a fit as a GIF.
"""

from widemargin.plots.animation import animate
from widemargin.plots.boundary import BoundaryDisplay, plot_boundary
from widemargin.plots.convergence import ConvergenceDisplay, plot_convergence
from widemargin.plots.grid_search import GridSearchDisplay, plot_grid_search
from widemargin.plots.kernel_matrix import KernelMatrixDisplay, plot_kernel
from widemargin.plots.kinds import plot
from widemargin.plots.kkt import KKTDisplay, plot_kkt
from widemargin.plots.reliability import ReliabilityDisplay, plot_reliability
from widemargin.plots.scaling import ScalingDisplay, plot_scaling
from widemargin.plots.tube import TubeDisplay, plot_tube

__all__ = [
    "BoundaryDisplay",
    "ConvergenceDisplay",
    "GridSearchDisplay",
    "KKTDisplay",
    "KernelMatrixDisplay",
    "ReliabilityDisplay",
    "ScalingDisplay",
    "TubeDisplay",
    "animate",
    "plot",
    "plot_boundary",
    "plot_convergence",
    "plot_grid_search",
    "plot_kernel",
    "plot_kkt",
    "plot_reliability",
    "plot_scaling",
    "plot_tube",
]
