"""The boundary of a classifier on two features, with its margins and support vectors.

Two classes   the line f = 0, the margins f = -1 and f = +1, and a tint that deepens with |f|
many classes  the region of each class and the lines between them
one class     the line f = 0 around the region taken for normal

Every support vector is ringed: a full ring where its multiplier is free (it lies on the margin and carries the position
of the boundary), a thin one where it is at its bound C (it lies inside the margin or on the wrong side).
Colours are those of Okabe and Ito, told apart also by people with colour-blindness; each class has its own marker too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CLASS_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31", "#6A51A3")
CLASS_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")
INK = "#222222"
DEEPEST_TINT = 0.42  # share of the class colour where |f| is largest: points of the same colour must still stand out
REGION_TINT = 0.24  # the same where regions have one even colour
TINT_SATURATES = 2.0  # |f| at which the tint is deepest: one margin width beyond the margin
GRID = 300  # points along each axis: smooth lines at screen resolution, a fraction of a second to evaluate
EDGE = 0.08  # room left around the data, as a share of their range
ON_MARGIN = 2e-2  # 1 - |f| up to which a support vector counts as on the margin; models are trained to about 1e-3
AT_BOUND = 1e-6  # relative distance from C at which a multiplier counts as being at its bound


def plot_boundary(model: Any, X: Any, y: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the decision boundary, the margins and the support vectors of a fitted machine on two features.

    Parameters
    ----------
    model : fitted SVC, NuSVC or OneClassSVM, of widemargin or of scikit-learn
    X : array-like of shape (n_samples, 2)
        Points to draw, usually the training data. Column names become axis labels.
    y : array-like of shape (n_samples,), optional
        Their classes; not needed for a one-class machine.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> from widemargin.plots import plot_boundary
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> ax = plot_boundary(SVC().fit(X, y), X, y)
    >>> [label.get_text() for label in ax.get_legend().get_texts()][:2]
    ['class 0', 'class 1']
    """
    plt = _matplotlib()
    check_is_fitted(model)
    points, names = _two_features(X)
    classes = getattr(model, "classes_", None)
    if classes is None and not hasattr(model, "offset_"):
        raise ValueError(
            f"plot_boundary draws classifiers and one-class machines; {type(model).__name__} is neither. "
            "Plot predictions of a regression against its feature instead."
        )
    if classes is not None and y is None:
        raise ValueError("plot_boundary needs y, the class of each point, to draw a classifier: pass it after X.")
    if ax is None:
        ax = plt.subplots(figsize=(7.6, 5.8), layout="constrained")[1]
    grid, xs, ys = _grid(points)
    if classes is None:
        _draw_two_sides(ax, model, grid, xs, ys, margins=False)
        labels = np.zeros(len(points), int)
        class_names = ["data"]
    elif len(classes) == 2:
        _draw_two_sides(ax, model, grid, xs, ys, margins=True)
        labels = np.searchsorted(classes, np.asarray(y))
        class_names = [f"class {name}" for name in classes]
    else:
        _draw_regions(ax, model, grid, xs, ys)
        labels = np.searchsorted(classes, np.asarray(y))
        class_names = [f"class {name}" for name in classes]
    _draw_points(ax, points, labels, class_names)
    _draw_support_vectors(ax, model, points)
    ax.set(xlim=(xs[0], xs[-1]), ylim=(ys[0], ys[-1]), xlabel=names[0], ylabel=names[1])
    ax.tick_params(length=3, color="#999999")
    ax.spines[["top", "right"]].set_visible(False)
    _draw_legend(ax)
    return ax


def _matplotlib() -> Any:
    """matplotlib is an extra: say how to get it rather than fail with an import error."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as missing:
        raise ImportError(
            "Plots need matplotlib, which is not installed: pip install 'widemargin[plots]'."
        ) from missing
    return plt


def _two_features(X: Any) -> tuple[NDArray[np.float64], list[str]]:
    """Dense points and axis labels, or a sentence when the data have another number of features."""
    columns = getattr(X, "columns", None)
    dense = X.toarray() if hasattr(X, "toarray") else X
    points = np.asarray(dense, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        found = f"shape {points.shape}" if points.ndim != 2 else f"{points.shape[1]} features"
        raise ValueError(
            f"plot_boundary draws two features; X has {found}. Train on two columns, or project the data first "
            "(sklearn.decomposition.PCA(2))."
        )
    names = [str(name) for name in columns] if columns is not None else ["feature 1", "feature 2"]
    return points, names


def _grid(points: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Points at which the machine is evaluated, row by row, with the two axes."""
    low, high = points.min(axis=0), points.max(axis=0)
    room = EDGE * np.where(high > low, high - low, 1.0)
    xs, ys = (np.linspace(low[k] - room[k], high[k] + room[k], GRID) for k in (0, 1))
    return np.column_stack([axis.ravel() for axis in np.meshgrid(xs, ys)]), xs, ys


def _mixed_with_white(colour: str, share: float) -> tuple[float, float, float]:
    """A tint of a colour: opaque, so that lines and points above it keep their own colours."""
    from matplotlib.colors import to_rgb

    red, green, blue = (share * part + (1.0 - share) for part in to_rgb(colour))
    return red, green, blue


def _draw_two_sides(ax: Axes, model: Any, grid: NDArray, xs: NDArray, ys: NDArray, *, margins: bool) -> None:
    """Tint by the value of f, the boundary f = 0, and the margins |f| = 1."""
    from matplotlib.colors import LinearSegmentedColormap

    values = np.asarray(model.decision_function(grid)).reshape(GRID, GRID)
    low, high = (-TINT_SATURATES, TINT_SATURATES) if margins else (min(values.min(), -1e-9), max(values.max(), 1e-9))
    inside = CLASS_COLOURS[1] if margins else CLASS_COLOURS[0]  # a one-class machine has its data on the positive side
    outside = CLASS_COLOURS[0] if margins else "#777777"
    zero = -low / (high - low)  # white stands at f = 0 also where the two sides reach differently far
    stops = [
        (0.0, _mixed_with_white(outside, DEEPEST_TINT)),
        (zero, (1.0, 1.0, 1.0)),
        (1.0, _mixed_with_white(inside, DEEPEST_TINT)),
    ]
    ax.imshow(
        values,
        extent=(xs[0], xs[-1], ys[0], ys[-1]),
        origin="lower",
        aspect="auto",
        interpolation="bilinear",
        cmap=LinearSegmentedColormap.from_list("sides", stops),
        vmin=low,
        vmax=high,
    )
    ax.contour(xs, ys, values, levels=[0.0], colors=INK, linewidths=2.0)
    ax.plot([], [], color=INK, linewidth=2.0, label="boundary, f = 0")
    if margins:
        ax.contour(xs, ys, values, levels=[-1.0, 1.0], colors=INK, linewidths=1.1, linestyles="dashed")
        ax.plot([], [], color=INK, linewidth=1.1, linestyle="dashed", label="margins, f = ±1")


def _draw_regions(ax: Axes, model: Any, grid: NDArray, xs: NDArray, ys: NDArray) -> None:
    """One even tint for each class, and the lines between them."""
    from matplotlib.colors import ListedColormap

    n_classes = len(model.classes_)
    region = np.searchsorted(model.classes_, model.predict(grid)).reshape(GRID, GRID)
    tints = [_mixed_with_white(CLASS_COLOURS[k % len(CLASS_COLOURS)], REGION_TINT) for k in range(n_classes)]
    ax.pcolormesh(xs, ys, region, cmap=ListedColormap(tints), vmin=-0.5, vmax=n_classes - 0.5, rasterized=True)
    for k in range(n_classes):
        member = (region == k).astype(float)
        if 0.0 < member.mean() < 1.0:
            ax.contour(xs, ys, member, levels=[0.5], colors=INK, linewidths=1.4)
    ax.plot([], [], color=INK, linewidth=1.4, label="boundaries")


def _draw_points(ax: Axes, points: NDArray, labels: NDArray, class_names: list[str]) -> None:
    """The data, one colour and one marker for each class."""
    size = float(np.clip(9000.0 / len(points), 9.0, 34.0))
    for k, name in enumerate(class_names):
        chosen = points[labels == k]
        ax.scatter(
            chosen[:, 0],
            chosen[:, 1],
            s=size,
            color=CLASS_COLOURS[k % len(CLASS_COLOURS)],
            marker=CLASS_MARKERS[k % len(CLASS_MARKERS)],
            edgecolors="white",
            linewidths=0.5,
            label=name,
            zorder=3,
        )


def _draw_support_vectors(ax: Axes, model: Any, points: NDArray) -> None:
    """Ring the support vectors, the free ones more strongly."""
    vectors = model.support_vectors_
    vectors = vectors.toarray() if hasattr(vectors, "toarray") else np.asarray(vectors)
    if vectors.shape != (len(vectors), 2):  # a precomputed or object kernel keeps no coordinates
        return
    free = _is_free(model, vectors)
    size = 2.6 * float(np.clip(9000.0 / len(points), 9.0, 34.0))
    rings = {"on the margin (free)": (free, 1.5), "at its bound": (~free, 0.7)}
    for name, (chosen, width) in rings.items():
        if chosen.any():
            ax.scatter(
                vectors[chosen, 0],
                vectors[chosen, 1],
                s=size,
                facecolors="none",
                edgecolors=INK if width > 1.0 else "#555555",
                linewidths=width,
                label=f"support vector {name}",
                zorder=4,
            )


def _draw_legend(ax: Axes) -> None:
    """Below the picture, data first, so that the drawing keeps the full width and nothing is covered."""
    handles, labels = ax.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda k: (handles[k].__class__.__name__ == "Line2D", k))
    ax.legend(
        [handles[k] for k in order],
        [labels[k] for k in order],
        loc="upper center",
        bbox_to_anchor=(0.5, -0.11),
        ncols=3,
        frameon=False,
        columnspacing=1.6,
        handletextpad=0.6,
    )


def _is_free(model: Any, vectors: NDArray) -> NDArray[np.bool_]:
    """Support vectors with a multiplier strictly inside its box.

    With two classes this is read off f, since |f| = 1 exactly there: that holds under sample weights as well. With many
    classes each vector has a multiplier for every pair, and these are compared with C.
    """
    classes = getattr(model, "classes_", None)
    coefficients = model.dual_coef_
    coefficients = np.abs(coefficients.toarray() if hasattr(coefficients, "toarray") else coefficients)
    if classes is not None and len(classes) == 2:
        signs = np.sign(np.asarray(model.dual_coef_.sum(axis=0)).ravel())
        return signs * np.asarray(model.decision_function(vectors)) >= 1.0 - ON_MARGIN
    if classes is None:
        return coefficients[0] < coefficients.max() * (1.0 - AT_BOUND)
    weights = np.repeat(np.asarray(getattr(model, "class_weight_", np.ones(len(classes)))), model.n_support_)
    bound = getattr(model, "C", coefficients.max()) * weights
    return ((coefficients > 0.0) & (coefficients < bound * (1.0 - AT_BOUND))).any(axis=0)
