"""All pictures by the name of their kind; the command line uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from widemargin.inspection.pipelines import unwrap
from widemargin.plots.boundary import plot_boundary
from widemargin.plots.convergence import plot_convergence
from widemargin.plots.grid_search import plot_grid_search
from widemargin.plots.kernel_matrix import plot_kernel
from widemargin.plots.kkt import plot_kkt
from widemargin.plots.palette import Axes
from widemargin.plots.reading import dense_features, drawable, kind_of
from widemargin.plots.reliability import plot_reliability
from widemargin.plots.scaling import ScalingDisplay
from widemargin.plots.tube import plot_tube

WITHOUT_DATA = ("convergence", "grid")  # drawn from the model only, without data


def plot(model: Any, X: Any = None, y: Any = None, kind: str = "auto", ax: Axes | None = None, **options: Any) -> Axes:
    """Draw a picture of a fitted model.

    Parameters
    ----------
    model : fitted model, pipeline or grid search
    X, y : the data, usually those of the fit; "convergence" and "grid" do without
    kind : {"auto", "boundary", "tube", "convergence", "kkt", "kernel", "grid", "reliability", "scaling"}, \
            default "auto"
        "auto" draws the heat map of a search over two parameters or more, the tube of a regression, and the boundary
        of everything else; of a search over one parameter, its best estimator.
    ax : matplotlib Axes, optional
    **options
        Passed on to the function of the kind: `plot_boundary`, `plot_tube`, `plot_convergence`, `plot_kkt`,
        `plot_kernel`, `plot_grid_search`, `plot_reliability`, or `ScalingDisplay.from_estimator`. A boundary of more
        than two features is drawn along principal components unless `features` says otherwise.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from widemargin import SVC
    >>> from widemargin.plots import plot
    >>> X, y = load_wine(return_X_y=True)
    >>> plot(SVC(C=100).fit(X, y), X, y).get_xlabel()
    'component 1 (36% of variance)'
    """
    if kind == "auto":
        searched = [name for name in getattr(model, "cv_results_", ()) if name.startswith("param_")]
        kind = "grid" if len(searched) > 1 else "tube" if kind_of(unwrap(model)[0]) == "regressor" else "boundary"
    if kind not in KINDS:
        raise ValueError(f"There is no picture of kind {kind!r}; choose one of {', '.join(KINDS)}.")
    if kind in WITHOUT_DATA:
        return KINDS[kind](model, ax, **options)
    if X is None:
        raise ValueError(f"A picture of kind {kind!r} needs the data: pass X, and y if the model has targets.")
    return KINDS[kind](model, X, y, ax, **options)


def _boundary(model: Any, X: Any, y: Any, ax: Axes | None, **options: Any) -> Axes:
    """Draw the boundary; with more than two features, on the plane that shows most of the data."""
    if options.get("features") is None and dense_features(drawable(model, X)[1]).shape[1] > 2:
        options["features"] = "pca"
    return plot_boundary(model, X, y, ax, **options)


def _scaling(model: Any, X: Any, y: Any, ax: Axes | None, **options: Any) -> Axes:
    """Draw the scaling, measured by fits on growing parts of the data."""
    return ScalingDisplay.from_estimator(model, X, y, **options).plot(ax).ax_


KINDS: dict[str, Callable[..., Axes]] = {
    "boundary": _boundary,
    "tube": plot_tube,
    "convergence": plot_convergence,
    "kkt": plot_kkt,
    "kernel": plot_kernel,
    "grid": plot_grid_search,
    "reliability": plot_reliability,
    "scaling": _scaling,
}
