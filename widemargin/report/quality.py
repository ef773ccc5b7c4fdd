"""How good the answers are on the given data: classification, regression and one-class, each with its figures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
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

from widemargin.models.multiclass import one_against_rest_confidence
from widemargin.report.charts import Axis, Series, axis, chart
from widemargin.report.html import Html, facts, number, percent, table, tag

MOST_CLASSES = 25  # in a confusion matrix; the classes that are most often confused are shown
MOST_CURVES = 6  # in one chart
BINS = 10  # of the calibration curve
DARKEST = 0.5  # opacity of a full cell of the confusion matrix: the number on it stays easy to read
DASHES = (None, "7 3", "2 3", "9 3 2 3", "12 4", "4 2")

Vector = NDArray[np.float64]


@dataclass(eq=False)
class Quality:
    """What is known about the answers.

    Attributes
    ----------
    tiles : name and value of the figures that matter most
    content : tables, charts and sentences
    predicted : the answers
    difficulty : how hard each sample is, larger is harder; for a classifier minus the margin
    difficulty_name : what that number is
    """

    predicted: NDArray
    difficulty: Vector
    difficulty_name: str
    tiles: list[tuple[str, str]] = field(default_factory=list)
    content: list[Html] = field(default_factory=list)


# ---- classification --------------------------------------------------------------------------------------------------


def classification(model: Any, X: Any, y: NDArray) -> Quality:
    """Accuracy, figures per class, confusion matrix, ROC, calibration."""
    classes = model.classes_
    unknown = np.setdiff1d(y, classes)
    if len(unknown):
        raise ValueError(f"y holds the label {unknown[0]!r}, which the model does not know; it knows {list(classes)}.")
    predicted = model.predict(X)
    scores = class_scores(model, X)
    labels = np.searchsorted(classes, y) if np.array_equal(classes, np.sort(classes)) else _places(classes, y)
    quality = Quality(predicted, -_margins(model, X, labels, scores), "margin" if len(classes) == 2 else "least margin")
    accuracy = float(np.mean(predicted == y))
    wrong = int(np.sum(predicted != y))
    present = np.unique(y)
    quality.tiles.append(("Accuracy", percent(accuracy)))
    rows = [
        ("Accuracy", f"{percent(accuracy)} ({wrong:,} of {len(y):,} samples wrong)"),
        ("Accuracy of always answering the commonest class", percent(_commonest(y))),
    ]
    if len(present) > 1:
        rows.insert(1, ("Mean accuracy over the classes", percent(_mean_accuracy(y, predicted, present))))
    quality.content.append(facts(rows, "Answers in total"))
    quality.content.append(_per_class(classes, y, predicted))
    quality.content.append(_confusion(classes, y, predicted))
    charts = []
    if len(present) > 1:
        picture, area = _roc(classes, labels, scores)
        charts.append(picture)
        quality.tiles.append(("Area under ROC", number(area)))
    probabilities = _probabilities(model, X)
    if probabilities is not None:
        charts.append(_calibration(classes, labels, probabilities))
        rows = [("Log loss", number(float(log_loss(y, probabilities, labels=classes))))]
        if len(classes) == 2:
            rows.append(("Brier score", number(float(brier_score_loss(labels, probabilities[:, 1], pos_label=1)))))
        quality.content.append(facts(rows, "Probabilities"))
    quality.content.append(tag("div", *charts, class_="figures"))
    if probabilities is None:
        quality.content.append(
            tag("p", "There is no calibration curve: the model gives no probabilities. Train with probability=True.")
        )
    return quality


def class_scores(model: Any, X: Any) -> Vector:
    """One score per sample and class, whatever shape `decision_function` has."""
    values = np.asarray(model.decision_function(X), np.float64)
    n_classes = len(model.classes_)
    if values.ndim == 1:
        return np.column_stack([-values, values])
    if getattr(model, "decision_function_shape", "ovr") == "ovo" and n_classes > 2:
        return one_against_rest_confidence(values, n_classes)
    return values


def _margins(model: Any, X: Any, labels: NDArray, scores: Vector) -> Vector:
    """How clearly each sample lies on the side of its own class: against the other class, or its strongest rival."""
    n_classes = len(model.classes_)
    pairs = n_classes > 2 and getattr(model, "multi_class", "") == "ovo" and hasattr(model, "_decision_values")
    if pairs:
        first, second = np.triu_indices(n_classes, 1)
        values = model._decision_values(X)
        own = np.where(labels[:, None] == first, values, np.where(labels[:, None] == second, -values, np.inf))
        return own.min(axis=1)
    mine = scores[np.arange(len(labels)), labels]
    rest = scores.copy()
    rest[np.arange(len(labels)), labels] = -np.inf
    return (mine - rest.max(axis=1)) / (2.0 if n_classes == 2 else 1.0)


def _places(classes: NDArray, y: NDArray) -> NDArray[np.intp]:
    """Place of each label among classes that are in no order."""
    order = np.argsort(classes)
    return order[np.searchsorted(classes, y, sorter=order)]


def _mean_accuracy(y: NDArray, predicted: NDArray, present: NDArray) -> float:
    """Mean over the classes that occur of the share of each that is found."""
    return float(np.mean([np.mean(predicted[y == label] == label) for label in present]))


def _commonest(y: NDArray) -> float:
    return float(np.unique(y, return_counts=True)[1].max() / len(y))


def _probabilities(model: Any, X: Any) -> Vector | None:
    """Probabilities where the model gives any."""
    try:
        return np.asarray(model.predict_proba(X))
    except (AttributeError, ValueError):
        return None


def _per_class(classes: NDArray, y: NDArray, predicted: NDArray) -> Html:
    """Precision, recall and F1 of each class."""
    scores = precision_recall_fscore_support(y, predicted, labels=classes, zero_division=0.0)
    rows = [
        (label, percent(precision), percent(recall), number(f1, 3), f"{int(count):,}")
        for label, precision, recall, f1, count in zip(classes, *scores, strict=True)
    ]
    caption = "Per class. Precision: how often this answer is right. Recall: how much of the class is found."
    return table(("Class", "Precision", "Recall", "F1", "Samples"), rows, caption, numeric=(1, 2, 3, 4))


def _confusion(classes: NDArray, y: NDArray, predicted: NDArray) -> Html:
    """Counts of true against given classes, darker where more of a true class went."""
    counts = confusion_matrix(y, predicted, labels=classes)
    caption = "Confusion matrix: rows are the true classes, columns the model's answers"
    shown = np.arange(len(classes))
    if len(classes) > MOST_CLASSES:
        errors = counts.sum(axis=0) + counts.sum(axis=1) - 2 * np.diag(counts)
        shown = np.sort(np.argsort(-errors, kind="stable")[:MOST_CLASSES])
        caption += f" (the {MOST_CLASSES} of {len(classes)} classes with most errors)"
    head = tag("tr", tag("th", "true \\ answer", scope="col"), *(tag("th", classes[j], scope="col") for j in shown))
    body = []
    for i in shown:
        total = max(int(counts[i].sum()), 1)
        cells = [
            tag(
                "td",
                f"{counts[i, j]:,}",
                class_="right" if i == j else None,
                style=f"--share:{DARKEST * counts[i, j] / total:.2f}",
            )
            for j in shown
        ]
        body.append(tag("tr", tag("th", classes[i], scope="row"), *cells))
    inner = tag("table", tag("caption", caption), tag("thead", head), tag("tbody", *body), class_="confusion")
    return tag("div", inner, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _roc(classes: NDArray, labels: NDArray, scores: Vector) -> tuple[Html, float]:
    """ROC curves, one for two classes, else one class against the rest each, and the (mean) area."""
    wanted = [1] if len(classes) == 2 else [k for k in range(len(classes)) if 0 < np.sum(labels == k) < len(labels)]
    areas = {k: float(roc_auc_score(labels == k, scores[:, k])) for k in wanted}
    worst = sorted(wanted, key=lambda k: areas[k])[:MOST_CURVES]
    series = []
    for place, k in enumerate(worst):
        false, true, _ = roc_curve(labels == k, scores[:, k])
        name = f"{classes[k]} (area {areas[k]:.3f})" if len(classes) > 2 else f"area {areas[k]:.4f}"
        series.append(Series(false, true, name, colour=place, dash=DASHES[place % len(DASHES)]))
    mean = float(np.mean(list(areas.values())))
    many = len(wanted) > MOST_CURVES
    title = "ROC curve" if len(classes) == 2 else "ROC curves, each class against the rest"
    title += f" (the {MOST_CURVES} lowest of {len(wanted)})" if many else ""
    text = f"Share of samples found against share of false alarms. Mean area {mean:.4f}; 1 is perfect, 0.5 is chance."
    unit_x, unit_y = Axis("false alarms", 0.0, 1.0), Axis("found", 0.0, 1.0)
    return chart(title, text, unit_x, unit_y, series, diagonal=True), mean


def _calibration(classes: NDArray, labels: NDArray, probabilities: Vector) -> Html:
    """Observed frequency against stated probability: of the second of two classes, else of the answers."""
    if len(classes) == 2:
        happened, stated, what = labels == 1, probabilities[:, 1], f"class {classes[1]}"
    else:
        happened, stated, what = (
            probabilities.argmax(axis=1) == labels,
            probabilities.max(axis=1),
            "the answer being right",
        )
    observed, mean = calibration_curve(happened, stated, n_bins=BINS)
    away = float(np.abs(observed - mean).max())
    text = f"Observed share against stated probability of {what}, in {BINS} bins; at most {away:.3f} from the diagonal."
    unit_x, unit_y = Axis(f"stated probability of {what}", 0.0, 1.0), Axis("observed share", 0.0, 1.0)
    line = Series(mean, observed, "model", colour=0)
    return chart("Calibration", text, unit_x, unit_y, [line, Series(mean, observed, "", "points")], diagonal=True)


# ---- regression and one-class ----------------------------------------------------------------------------------------


def regression(model: Any, X: Any, y: NDArray) -> Quality:
    """Errors in the units of the target, predictions against targets, and how the residuals spread."""
    target = np.asarray(y, np.float64)
    predicted = np.asarray(model.predict(X), np.float64)
    residual = target - predicted
    quality = Quality(predicted, np.abs(residual), "error")
    spread = float(((target - target.mean()) ** 2).sum())
    r2 = 1.0 - float((residual**2).sum()) / spread if spread > 0 else float("nan")
    rmse, mae = float(np.sqrt(np.mean(residual**2))), float(np.mean(np.abs(residual)))
    quality.tiles += [("R\u00b2", number(r2)), ("Mean absolute error", number(mae))]
    rows = [
        ("R\u00b2, share of the variance explained", number(r2)),
        ("Root of the mean squared error", number(rmse)),
        ("Mean absolute error", number(mae)),
        ("Median absolute error", number(float(np.median(np.abs(residual))))),
        ("Largest absolute error", number(float(np.abs(residual).max()))),
        ("Mean of the residuals (0 is unbiased)", number(float(residual.mean()))),
        ("Standard deviation of the targets", number(float(target.std()))),
    ]
    if hasattr(model, "epsilon"):
        inside = float(np.mean(np.abs(residual) <= model.epsilon))
        rows.append((f"Samples within the tube of {number(model.epsilon)}", percent(inside)))
    both_x, both_y = axis("target", target, predicted), axis("prediction", target, predicted)
    counts, edges = np.histogram(residual, bins=min(30, max(5, int(np.sqrt(len(residual))))))
    middle = (edges[:-1] + edges[1:]) / 2
    bars = Series(middle, counts, "", "bars", width=float(edges[1] - edges[0]))
    quality.content = [
        facts(rows, "Errors, in the units of the target"),
        tag(
            "div",
            chart(
                "Predictions against targets",
                f"Each dot is a sample; on the diagonal the prediction is exact. R squared is {number(r2)}.",
                both_x,
                both_y,
                [Series(target, predicted, "", "points")],
                diagonal=True,
            ),
            chart(
                "Residuals",
                f"How often target minus prediction takes which value. Mean {number(float(residual.mean()))}.",
                axis("target minus prediction", edges),
                axis("samples", counts, zero=True),
                [bars],
            ),
            class_="figures",
        ),
    ]
    return quality


def one_class(model: Any, X: Any, y: NDArray | None) -> Quality:
    """How many samples are outside, and how the decision values spread."""
    values = np.asarray(model.decision_function(X), np.float64)
    predicted = model.predict(X)
    quality = Quality(predicted, -values, "decision value")
    outside = float(np.mean(predicted == -1))
    quality.tiles.append(("Outside the region", percent(outside)))
    rows = [("Samples outside the region", f"{percent(outside)} ({int(np.sum(predicted == -1)):,} of {len(values):,})")]
    if hasattr(model, "nu"):
        rows.append(("Largest share of training samples outside (nu)", percent(model.nu)))
    if y is not None and len(np.unique(y)) == 2 and set(np.unique(y).tolist()) <= {-1, 1}:
        rows.append(("Agreement with the given labels +1 and -1", percent(float(np.mean(predicted == y)))))
        rows.append(("Area under ROC against them", number(float(roc_auc_score(y, values)))))
    counts, edges = np.histogram(values, bins=min(40, max(5, int(np.sqrt(len(values))))))
    bars = Series((edges[:-1] + edges[1:]) / 2, counts, "", "bars", width=float(edges[1] - edges[0]))
    text = "How often the decision function takes which value; below zero is outside."
    quality.content = [
        facts(rows, "Samples inside and outside"),
        tag(
            "div",
            chart("Decision values", text, axis("decision value", edges), axis("samples", counts, zero=True), [bars]),
            class_="figures",
        ),
    ]
    return quality
