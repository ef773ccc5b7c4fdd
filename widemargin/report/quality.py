"""Quality of the answers on the given data, with figures for classification, regression and one-class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.calibration import calibration_curve
from sklearn.metrics import (
    brier_score_loss,
    confusion_matrix,
    log_loss,
    precision_recall_fscore_support,
    roc_auc_score,
    roc_curve,
)

from widemargin.linalg.arrays import Matrix, Vector
from widemargin.models.multiclass import one_against_rest_confidence
from widemargin.report.advice import spreads
from widemargin.report.charts import Axis, Chart, Series, axis, histogram
from widemargin.report.numbers import number, percent, shown
from widemargin.report.regions import regions
from widemargin.report.subject import Subject

MOST_CLASSES = 25  # in a confusion matrix; the classes that are most often confused are shown
BINS = 10  # of the calibration curve
DASHES = (None, "7 3", "2 3", "9 3 2 3", "12 4", "4 2")  # one per curve of a chart
MOST_FEATURES = 3  # shown per hard sample
UNUSUAL = 1.5  # standard deviations from the mean that are worth a mention


@dataclass(frozen=True, eq=False)
class Quality:
    """The quality of the answers.

    Attributes
    ----------
    kind : "classification", "regression" or "one_class"; a template of this name has the words
    predicted : the answers
    difficulty : how hard each sample is, larger is harder; for a classifier minus the margin
    difficulty_name : what that number is
    tiles : name and value of the figures that matter most
    measured : what the template shows
    charts : list of Chart
    """

    kind: str
    predicted: NDArray
    difficulty: Vector
    difficulty_name: str
    tiles: dict[str, str]
    measured: dict[str, Any]
    charts: list[Chart]


# ---- classification --------------------------------------------------------------------------------------------------


def classification(subject: Subject) -> Quality:
    """Accuracy, figures per class, confusion matrix, ROC, calibration."""
    model, X, y, classes = subject.model, subject.given, subject.y, subject.model.classes_
    unknown = np.setdiff1d(y, classes)
    if len(unknown):
        raise ValueError(f"y holds the label {unknown[0]!r}, which the model does not know; it knows {list(classes)}.")
    predicted, scores = model.predict(X), class_scores(model, X)
    labels = np.searchsorted(classes, y)
    counts = confusion_matrix(y, predicted, labels=classes)
    per_class = precision_recall_fscore_support(y, predicted, labels=classes, zero_division=0.0)
    found, size = per_class[1], per_class[3]
    accuracy, several = float(np.mean(predicted == y)), np.sum(size > 0) > 1
    errors = counts.sum(axis=0) + counts.sum(axis=1) - 2 * np.diag(counts)
    measured = {
        "accuracy": accuracy,
        "wrong": np.sum(predicted != y),
        "mean_accuracy": found[size > 0].mean() if several else None,
        "commonest": size.max() / size.sum(),
        "per_class": [
            (label, percent(precision), percent(recall), number(f1, 3), number(count))
            for label, precision, recall, f1, count in zip(classes, *per_class, strict=True)
        ],
        "counts": counts,
        "listed": np.sort(np.argsort(-errors, kind="stable")[:MOST_CLASSES]),
    }
    tiles, charts = {"Accuracy": percent(accuracy)}, []
    if several:
        curves, area = _roc(classes, labels, scores)
        charts.append(curves)
        tiles["Area under ROC"] = number(area)
    try:
        probabilities = np.asarray(model.predict_proba(X))
    except (AttributeError, ValueError):  # the model gives none
        pass
    else:
        charts.append(_calibration(classes, labels, probabilities))
        measured["log_loss"] = log_loss(y, probabilities, labels=classes)
        if len(classes) == 2:
            measured["brier"] = brier_score_loss(labels, probabilities[:, 1], pos_label=1)
    charts += regions(subject)
    name = "margin" if len(classes) == 2 else "least margin"
    return Quality("classification", predicted, -_margins(model, X, labels, scores), name, tiles, measured, charts)


def class_scores(model: Any, X: Any) -> Matrix:
    """One score per sample and class, whatever shape `decision_function` has."""
    values = np.asarray(model.decision_function(X), np.float64)
    n_classes = len(model.classes_)
    if values.ndim == 1:
        return np.column_stack([-values, values])
    if getattr(model, "decision_function_shape", "ovr") == "ovo" and n_classes > 2:
        return one_against_rest_confidence(values, n_classes)
    return values


def _margins(model: Any, X: Any, labels: NDArray, scores: Matrix) -> Vector:
    """Return the margin of each sample in favour of its own class, against the other or the strongest other class."""
    n_classes = len(model.classes_)
    if n_classes > 2 and getattr(model, "multi_class", "") == "ovo" and hasattr(model, "_decision_values"):
        first, second = np.triu_indices(n_classes, 1)
        values = model._decision_values(X)
        own = np.where(labels[:, None] == first, values, np.where(labels[:, None] == second, -values, np.inf))
        return own.min(axis=1)
    others = np.arange(n_classes) != labels[:, None]
    rival = np.where(others, scores, -np.inf).max(axis=1)
    return (scores[~others] - rival) / (2.0 if n_classes == 2 else 1.0)


def _roc(classes: NDArray, labels: NDArray, scores: Matrix) -> tuple[Chart, float]:
    """ROC curves, one for two classes, else one class against the rest each, and the (mean) area."""
    wanted = [1] if len(classes) == 2 else [k for k in range(len(classes)) if 0 < np.sum(labels == k) < len(labels)]
    areas = {k: float(roc_auc_score(labels == k, scores[:, k])) for k in wanted}
    lines = []
    for place, k in enumerate(sorted(wanted, key=lambda k: areas[k])[: len(DASHES)]):
        false, true, _ = roc_curve(labels == k, scores[:, k])
        name = f"{classes[k]} (area {areas[k]:.3f})" if len(classes) > 2 else f"area {areas[k]:.4f}"
        lines.append(Series(false, true, name, colour=place, dash=DASHES[place]))
    mean = float(np.mean(list(areas.values())))
    title = "ROC curve" if len(classes) == 2 else "ROC curves, each class against the rest"
    if len(wanted) > len(lines):
        title += f" (the {len(lines)} lowest of {len(wanted)})"
    text = f"Share of samples found against share of false alarms. Mean area {mean:.4f}; 1 is perfect, 0.5 is chance."
    return Chart(title, text, Axis("false alarms", 0.0, 1.0), Axis("found", 0.0, 1.0), lines, diagonal=True), mean


def _calibration(classes: NDArray, labels: NDArray, probabilities: Matrix) -> Chart:
    """Observed frequency against stated probability: of the second of two classes, else of the answers."""
    happened, stated, what = labels == 1, probabilities[:, 1], f"class {classes[1]}"
    if len(classes) > 2:
        happened, stated = probabilities.argmax(axis=1) == labels, probabilities.max(axis=1)
        what = "the answer being right"
    observed, mean = calibration_curve(happened, stated, n_bins=BINS)
    away = float(np.abs(observed - mean).max())
    text = f"Observed share against stated probability of {what}, in {BINS} bins; at most {away:.3f} from the diagonal."
    x, y = Axis(f"stated probability of {what}", 0.0, 1.0), Axis("observed share", 0.0, 1.0)
    marks = [Series(mean, observed, "model"), Series(mean, observed, kind="points")]
    return Chart("Calibration", text, x, y, marks, diagonal=True)


# ---- regression and one-class ----------------------------------------------------------------------------------------


def regression(subject: Subject) -> Quality:
    """Errors in the units of the target, predictions against targets, and how the residuals spread."""
    model, target = subject.model, np.asarray(subject.y, np.float64)
    predicted = np.asarray(model.predict(subject.given), np.float64)
    residual = target - predicted
    error, spread = np.abs(residual), float(((target - target.mean()) ** 2).sum())
    r2 = 1.0 - float((residual**2).sum()) / spread if spread > 0 else float("nan")
    measured = {
        "r2": r2,
        "root_mean_square": np.sqrt(np.mean(residual**2)),
        "error": error,
        "median": np.median(error),
        "residual": residual,
        "target": target,
        "inside": np.mean(error <= model.epsilon) if hasattr(model, "epsilon") else None,
    }
    text = f"Each dot is a sample; on the diagonal the prediction is exact. R squared is {number(r2)}."
    x, y = axis("target", target, predicted), axis("prediction", target, predicted)
    dots = [Series(target, predicted, kind="points")]
    mean = f"How often target minus prediction takes which value. Mean {number(residual.mean())}."
    charts = [
        Chart("Predictions against targets", text, x, y, dots, diagonal=True),
        histogram("Residuals", mean, ("target minus prediction", "samples"), residual),
    ]
    tiles = {"R\u00b2": number(r2), "Mean absolute error": number(error.mean())}
    return Quality("regression", predicted, error, "error", tiles, measured, charts)


def one_class(subject: Subject) -> Quality:
    """How many samples are outside, and how the decision values spread."""
    model, y = subject.model, subject.y
    values, predicted = np.asarray(model.decision_function(subject.given), np.float64), model.predict(subject.given)
    outside = predicted == -1
    measured: dict[str, Any] = {"outside": outside}
    if y is not None and len(np.unique(y)) == 2 and set(np.unique(y).tolist()) <= {-1, 1}:
        measured |= {"agreement": np.mean(predicted == y), "area": roc_auc_score(y, values)}
    text = "How often the decision function takes which value; below zero is outside."
    charts = [histogram("Decision values", text, ("decision value", "samples"), values)]
    charts += regions(subject)
    tiles = {"Outside the region": percent(outside.mean())}
    return Quality("one_class", predicted, -values, "decision value", tiles, measured, charts)


# ---- hardest samples -------------------------------------------------------------------------------------------------


def hardest(subject: Subject, quality: Quality, count: int) -> list[list[str]]:
    """Return the hardest samples with their unusual features, which often reveals wrong labels.

    Each is a row of its number, the right answer (if y was given), the model's answer, the difficulty and a remark.
    """
    order = np.argsort(-quality.difficulty, kind="stable")[:count]
    sign = 1.0 if quality.difficulty_name == "error" else -1.0
    rows = []
    for place, remark in zip(order, _unusual(subject, order), strict=True):
        answers = [quality.predicted[place]] if subject.y is None else [subject.y[place], quality.predicted[place]]
        rows.append([f"{place:,}", *map(shown, answers), number(sign * float(quality.difficulty[place]), 3), remark])
    return rows


def _unusual(subject: Subject, order: NDArray[np.intp]) -> list[str]:
    """The features of each sample that lie farthest from their mean, in standard deviations."""
    X, names = subject.raw, subject.raw_names
    if not subject.is_numeric:
        return [str(X[place])[:60] for place in order]
    _, _, mean, deviation = spreads(X)
    remarks = []
    for row in X[order].toarray() if sp.issparse(X) else X[order]:
        away = np.divide(row - mean, deviation, out=np.zeros_like(mean), where=deviation > 0)
        chosen = [j for j in np.argsort(-np.abs(away), kind="stable")[:MOST_FEATURES] if abs(away[j]) >= UNUSUAL]
        parts = [f"{names[j]} = {number(float(row[j]))} ({away[j]:+.1f} sd)" for j in chosen]
        remarks.append(", ".join(parts) or "nothing: all features are ordinary")
    return remarks
