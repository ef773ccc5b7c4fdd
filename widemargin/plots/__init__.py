"""Pictures of fitted machines. Needs matplotlib, which comes with `pip install 'widemargin[plots]'`."""

from widemargin.plots.boundary import plot_boundary

__all__ = ["plot_boundary"]
