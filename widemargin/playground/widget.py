"""`widemargin.toy`: the SVM toy in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from widemargin.playground.points import DEFAULTS, checked_parameters, points_from

if TYPE_CHECKING:
    from widemargin.playground.notebook import Toy


def toy(X: Any = None, y: Any = None, *, machine: str | None = None, **parameters: Any) -> Toy:
    """Show points and a support vector machine to play with, in a notebook.

    Points can be placed, dragged and deleted, parameters moved by sliders, and solvers watched step by step. The page
    solves by itself, exactly, for up to 300 points; `model` is fitted by widemargin on the points as they are.

    Parameters
    ----------
    X : array-like of shape (n_samples, 2), optional
        Points; for `machine="svr"` the one feature. Without X the toy begins with two moons.
    y : array-like of shape (n_samples,), optional
        Classes, eight at most, or the targets of a regression.
    machine : {"svc", "nusvc", "svr", "oneclass"}, optional
        By default "svc", and "oneclass" for X without y.
    **parameters
        kernel ("linear", "poly", "rbf", "sigmoid", "laplacian"), C, gamma, degree, coef0, epsilon, nu.

    Returns
    -------
    widget : Toy
        With `points`, `parameters`, `X`, `y` and `model`.

    Examples
    --------
    >>> import widemargin
    >>> toy = widemargin.toy([[0, 0], [1, 1], [0, 1], [1, 0]], ["a", "a", "b", "b"], C=10)  # doctest: +SKIP
    >>> toy.parameters = {**toy.parameters, "gamma": 2.0}  # the page follows  # doctest: +SKIP
    >>> toy.model.support_.tolist()  # doctest: +SKIP
    [0, 1, 2, 3]
    """
    chosen = machine or ("oneclass" if X is not None and y is None else "svc")
    unknown = sorted(set(parameters) - set(DEFAULTS))
    if unknown:
        raise TypeError(f"toy has no parameter {', '.join(unknown)}; it has {', '.join(DEFAULTS)}.")
    settings = checked_parameters({"machine": chosen, **parameters})
    points, classes = ([], []) if X is None else points_from(X, y, chosen)
    try:
        from widemargin.playground.notebook import Toy
    except ImportError as missing:
        raise ImportError(
            "The toy needs anywidget in a notebook, which is not installed: pip install 'widemargin[toy]'. "
            "`widemargin toy` opens it in the browser without."
        ) from missing
    return Toy(points, classes, settings)
