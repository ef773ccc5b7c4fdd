"""The kernel matrix as a picture, samples sorted by class: bright blocks on the diagonal are what a model uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin._sklearn import num_samples, safe_indexing
from widemargin.inspection.pipelines import prepared, unwrap
from widemargin.kernels import Kernel, make_kernel
from widemargin.kernels.names import is_precomputed
from widemargin.plots.display import Display
from widemargin.plots.palette import LEGIBLE, Axes, put_note
from widemargin.plots.reading import check_length, class_name, kind_of


@dataclass(eq=False, repr=False)
class KernelMatrixDisplay(Display):
    """The matrix k(x_i, x_j), sorted. Make one by `from_estimator`.

    Attributes
    ----------
    matrix : array of shape (m, m)
    order : int array of shape (m,)
        The samples shown, in the order of the picture.
    n_samples : int
        How many there were.
    class_names, class_starts : names of the blocks and the places where they begin; empty without classes
    sample_name : label of the axes where there are no blocks to name
    ax_, figure_ : set by `plot`

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.kernels import Gaussian
    >>> from widemargin.plots import KernelMatrixDisplay
    >>> X = np.array([[0.0], [5.0], [0.1]])
    >>> display = KernelMatrixDisplay.from_estimator(Gaussian(gamma=1.0), X, ["a", "b", "a"])
    >>> display.order.tolist(), display.matrix.round(2).tolist()
    ([0, 2, 1], [[1.0, 0.99, 0.0], [0.99, 1.0, 0.0], [0.0, 0.0, 1.0]])
    """

    matrix: NDArray[np.float64]
    order: NDArray[np.int64]
    n_samples: int
    class_names: list[str]
    class_starts: list[int]
    sample_name: str = "sample"

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any = None, *, max_samples: int = 1000) -> KernelMatrixDisplay:
        """Evaluate the kernel of a fitted model, or a kernel, on samples.

        Parameters
        ----------
        model : fitted kernel model, a pipeline ending in one, or a `Kernel`
        X : samples; the kernel matrix itself for a precomputed kernel
        y : array-like of shape (n_samples,), optional
            Samples are sorted by it: classes become blocks, targets of a regression a gradient.
        max_samples : int, default 1000
            Of more samples this number is taken, at even distances in the sorted order; a screen has about 1000 pixels.
        """
        if isinstance(model, Kernel):
            kernel, regression = model, y is not None and np.asarray(y).dtype.kind == "f"
        else:
            machine, before = unwrap(model)
            if not hasattr(machine, "kernel") or not hasattr(machine, "_gamma"):
                raise ValueError(f"{type(machine).__name__} has no kernel known here; give a Kernel instead.")
            X = prepared(before, X)
            regression = kind_of(machine) == "regressor"
            kernel = make_kernel(machine.kernel, gamma=machine._gamma, degree=machine.degree, coef0=machine.coef0)
        n_samples = num_samples(X)
        order = np.arange(n_samples)
        if y is not None:
            y = check_length(y, n_samples)
            order = np.argsort(y, kind="stable")
        if n_samples > max_samples:
            order = order[np.linspace(0, n_samples - 1, max_samples).round().astype(np.int64)]
        if is_precomputed(kernel):
            if getattr(X, "shape", None) != (n_samples, n_samples):
                raise ValueError(f"A precomputed kernel matrix must be square; X has shape {np.shape(X)}.")
            matrix = np.asarray(X, np.float64)[np.ix_(order, order)]
        else:
            matrix = kernel(safe_indexing(X, order))
        names, starts = [], []
        if y is not None and not regression:
            values, first = np.unique(y[order], return_index=True)
            names, starts = [class_name(value) for value in values], [int(place) for place in first]
        sample_name = "sample" if y is None else f"sample, sorted by {'target' if regression else 'class'}"
        return cls(matrix, order, n_samples, names, starts, sample_name)

    def plot(self, ax: Axes | None = None, *, colorbar: bool = True) -> KernelMatrixDisplay:
        """Draw, on the given Axes or on a new figure."""
        ax, theme = self._begin(ax, (6.4, 5.2))
        low, high = float(self.matrix.min()), float(self.matrix.max())
        colours, line = "cividis", "white"
        if low < 0.0:  # with both signs, a colour scale centred at zero
            low, high = min(low, -high), max(-low, high)
            colours, line = "PuOr_r", theme.ink
        low = min(0.0, low)
        image = ax.imshow(self.matrix, interpolation="nearest", aspect="auto", cmap=colours, vmin=low, vmax=high)
        for start in self.class_starts[1:]:
            ax.axhline(start - 0.5, color=line, linewidth=0.9)
            ax.axvline(start - 0.5, color=line, linewidth=0.9)
        shown = len(self.order)
        ax.set(xlabel=self.sample_name, ylabel=self.sample_name)
        if 0 < len(self.class_names) <= LEGIBLE.ticks:
            ends = [*self.class_starts[1:], shown]
            middles = [(start + end - 1) / 2 for start, end in zip(self.class_starts, ends)]
            ax.set(xlabel="class", ylabel="class")
            ax.set_xticks(middles, self.class_names)
            ax.set_yticks(middles, self.class_names)
            ax.tick_params(length=0)
        if shown < self.n_samples:
            put_note(ax, f"{shown:,} of {self.n_samples:,} samples")
        if colorbar:
            self.figure_.colorbar(image, ax=ax, label="k(x, z)", shrink=0.85)
        return self


def plot_kernel(
    model: Any, X: Any, y: Any = None, ax: Axes | None = None, *, max_samples: int = 1000, colorbar: bool = True
) -> Axes:
    """Draw the kernel matrix of samples, sorted by class or target.

    Parameters
    ----------
    model : fitted kernel model, a pipeline ending in one, or a `Kernel`
    X : samples; the kernel matrix itself for a precomputed kernel
    y : array-like of shape (n_samples,), optional
    ax : matplotlib Axes, optional
    max_samples : int, default 1000
        Of more samples this number is shown.
    colorbar : bool, default True

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.kernels import Gaussian
    >>> from widemargin.plots import plot_kernel
    >>> ax = plot_kernel(Gaussian(gamma=1.0), np.array([[0.0], [5.0], [0.1]]), ["a", "b", "a"])
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['a', 'b']
    """
    return KernelMatrixDisplay.from_estimator(model, X, y, max_samples=max_samples).plot(ax, colorbar=colorbar).ax_
