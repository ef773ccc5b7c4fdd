"""Reliability of probabilities: how often a class occurs where a model says that it has a probability p.

Samples are sorted into bins by their probability. In each bin the share of samples of the class is compared with the
mean probability; on the diagonal both are equal (DeGroot & Fienberg 1983; Niculescu-Mizil & Caruana 2005).

    Brier score         mean of (p - t)^2, t = 1 for samples of the class and 0 for others; of several classes the sum
                        over classes, each against the rest, divided by two (Brier 1950)
    calibration error   sum over bins of (samples in the bin / all samples) |share - mean p| (Naeini et al. 2015, "ECE")

With several classes p is the probability of the predicted class, and a sample counts if that is its class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from widemargin.calibration import PlattScaling
from widemargin.estimators.fitted import is_training_data
from widemargin.inspection.pipelines import unwrap
from widemargin.linalg.arrays import Vector
from widemargin.plots.display import Display
from widemargin.plots.palette import Axes, tidy

BINS = 10  # the usual number; more leave too few samples in each


@dataclass(eq=False, repr=False)
class ReliabilityDisplay(Display):
    """Shares of a class against its probability. Make one by `from_estimator` or `from_predictions`.

    Attributes
    ----------
    probability, share : arrays of shape (n_bins,)
        Mean probability and share of samples of the class in each bin that is not empty.
    count : int array of shape (n_bins,)
        Samples in each bin.
    brier_score, calibration_error : float
    ax_, figure_ : set by `plot`

    Examples
    --------
    >>> from widemargin.plots import ReliabilityDisplay
    >>> display = ReliabilityDisplay.from_predictions([0, 0, 1, 1], [0.2, 0.2, 0.7, 0.9], n_bins=2)
    >>> display.probability.round(2).tolist(), display.share.tolist()
    ([0.2, 0.8], [0.0, 1.0])
    >>> round(display.brier_score, 3), round(display.calibration_error, 3)
    (0.045, 0.2)
    """

    probability: Vector
    share: Vector
    count: Any
    brier_score: float
    calibration_error: float
    is_held_out: bool = False

    @classmethod
    def from_predictions(
        cls, y: ArrayLike, probability: ArrayLike, *, n_bins: int = BINS, is_held_out: bool = False
    ) -> ReliabilityDisplay:
        """Compare probabilities with labels.

        Parameters
        ----------
        y : labels, shape (n_samples,)
        probability : shape (n_samples,), of the second of two classes in ascending order; or (n_samples, n_classes)
        n_bins : int, default 10
        is_held_out : whether no model saw the sample that it gives a probability for
        """
        classes, labels = np.unique(np.asarray(y), return_inverse=True)
        p = np.asarray(probability, np.float64)
        p = np.column_stack([1.0 - p, p]) if p.ndim == 1 else p
        if p.shape != (len(labels), len(classes)) or not ((p >= 0) & (p <= 1)).all():
            raise ValueError(
                f"probability must be numbers from 0 to 1 of shape ({len(labels)}, {len(classes)}), one for each "
                f"of the {len(classes)} classes in y, or of the second class alone; got shape {np.shape(probability)}."
            )
        brier = float(np.square(p - np.eye(len(classes))[labels]).sum(axis=1).mean() / 2.0)
        told = p[:, 1] if len(classes) == 2 else p.max(axis=1)
        came = labels == 1 if len(classes) == 2 else labels == p.argmax(axis=1)
        bin_of = np.minimum((told * n_bins).astype(int), n_bins - 1)
        count = np.bincount(bin_of, minlength=n_bins)
        filled = count > 0
        mean = np.bincount(bin_of, told, n_bins)[filled] / count[filled]
        share = np.bincount(bin_of, came, n_bins)[filled] / count[filled]
        error = float(np.sum(count[filled] * np.abs(share - mean)) / len(labels))
        return cls(mean, share, count[filled], brier, error, is_held_out)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: ArrayLike, *, n_bins: int = BINS) -> ReliabilityDisplay:
        """Compare the probabilities of a model with the labels of the samples in X.

        An SVCCV on the samples it was trained on is judged by `oof_decision_`, its held-out values, which need no new
        data: X may then be None. Samples that no split holds out are left out. Every other model should
        be given samples that it was not trained on.
        """
        machine, _ = unwrap(model)
        labels = np.asarray(y)
        values = getattr(machine, "oof_decision_", None)
        if (
            values is not None
            and len(values) == len(labels)
            and getattr(machine, "multi_class", "ovo") == "ovo"
            and (X is None or machine is not model or is_training_data(machine, X) is not False)
        ):
            known = np.isfinite(values.reshape(len(values), -1)).all(axis=1)
            scaling = PlattScaling().fit(values[known], labels[known])
            return cls.from_predictions(
                labels[known], scaling.predict_proba(values[known]), n_bins=n_bins, is_held_out=True
            )
        if not hasattr(model, "predict_proba"):
            raise ValueError(
                f"{type(model).__name__} gives no probabilities: fit with probability=True, or use SVCCV, whose "
                "held-out values are enough."
            )
        return cls.from_predictions(labels, model.predict_proba(X), n_bins=n_bins)

    def plot(self, ax: Axes | None = None) -> ReliabilityDisplay:
        """Draw, on the given Axes or on a new figure."""
        ax, theme = self._begin(ax, (5.4, 5.0))
        ax.plot([0.0, 1.0], [0.0, 1.0], color=theme.faint, linewidth=1.0, linestyle="--")
        error = np.sqrt(self.share * (1.0 - self.share) / self.count)
        ax.errorbar(self.probability, self.share, yerr=error, color=theme.colour(0), marker="o", markersize=5,
                    linewidth=1.4, elinewidth=0.9, capsize=2)  # fmt: skip
        for p, share, count in zip(self.probability, self.share, self.count):
            ax.annotate(f"{count:,}", (p, share), (5, -11), textcoords="offset points", fontsize="x-small",
                        color=theme.faint)  # fmt: skip
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="probability", ylabel="share of samples")
        source = "held-out samples" if self.is_held_out else "samples given"
        words = f"Brier score {self.brier_score:.3f}, calibration error {self.calibration_error:.3f} ({source})"
        ax.set_title(words, loc="left", fontsize="medium")
        tidy(ax)
        return self


def plot_reliability(model: Any, X: Any, y: ArrayLike, ax: Axes | None = None, *, n_bins: int = BINS) -> Axes:
    """Draw how often a class occurs where the model gives it a probability p, with Brier score and calibration error.

    Parameters
    ----------
    model : fitted SVCCV, or any classifier with `predict_proba`
        An SVCCV is judged by its held-out values if y has as many labels as it was trained on.
    X, y : samples and labels; of an SVCCV those of the fit, others should not have seen them
    ax : matplotlib Axes, optional
    n_bins : int, default 10

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from widemargin import SVCCV
    >>> from widemargin.plots import plot_reliability
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SVCCV(Cs=[10.0], gammas=[1e-6], cv=3).fit(X, y)
    >>> plot_reliability(model, X, y).get_xlabel()
    'probability'
    """
    return ReliabilityDisplay.from_estimator(model, X, y, n_bins=n_bins).plot(ax).ax_
