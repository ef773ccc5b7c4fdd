"""A report on a fitted model as one HTML page: nothing is loaded from anywhere, everything is in the file.

what was trained -> how close to the optimum -> how good -> hardest examples -> how training went
-> support vectors -> scale of the features -> how to reproduce
"""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier, is_outlier_detector
from sklearn.utils.validation import check_is_fitted

import widemargin
from widemargin._sklearn import num_samples
from widemargin.certificate import Certificate
from widemargin.report import quality as measures
from widemargin.report.advice import scaling_section
from widemargin.report.certificate_words import certificate_section, sentences
from widemargin.report.convergence import convergence_section
from widemargin.report.hardest import hardest_section
from widemargin.report.html import Html, Section, join, number, percent, section, tag
from widemargin.report.trained import reproduce_section, support_section, trained_section, training_size
from widemargin.storage.atomic import replacing
from widemargin.verification import verify

# No script, no font, no picture from elsewhere can load, whatever a label contains.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def write_report(
    model: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike,
    *,
    title: str | None = None,
    feature_names: Any = None,
    n_hardest: int = 10,
) -> Path:
    """Write a report on a fitted model and its answers to given data as one self-contained HTML page.

    Parameters
    ----------
    model : fitted classifier, regressor or one-class machine
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Samples to answer, as `predict` takes them. With the training data the certificate of a model without one is
        computed, and the page says that scores on training data flatter.
    y : array-like of shape (n_samples,) or None
        What the answers should be; None for a one-class machine without labels.
    path : path of the page; an existing file is replaced as a whole or not at all
    title : str or None, default None
        Heading of the page; None names the machine.
    feature_names : sequence of str or None, default None
        Names of the columns; None takes those the model was fitted with, or x1, x2, ...
    n_hardest : int, default 10
        Number of hard examples shown.

    Returns
    -------
    path : Path of the page

    Raises
    ------
    ValueError
        X and y do not fit together or to the model.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import SVC
    >>> from widemargin.report import write_report
    >>> X, y = load_iris(return_X_y=True)
    >>> page = write_report(SVC().fit(X, y), X, y, pathlib.Path(tempfile.mkdtemp()) / "iris.html")
    >>> "certified" in page.read_text(encoding="utf-8")
    True
    """
    check_is_fitted(model)
    names_given = getattr(X, "columns", None)
    labels = None if y is None else np.asarray(y).ravel()
    given, matrix = X, _matrix(X)
    n_samples = num_samples(matrix)
    if n_samples == 0:
        raise ValueError("X holds no samples: a report needs some to be about.")
    if labels is None and not is_outlier_detector(model):
        raise ValueError(f"A report on a {type(model).__name__} needs y, the right answers to X.")
    if labels is not None and len(labels) != n_samples:
        raise ValueError(f"X has {n_samples} samples and y has {len(labels)}: give one answer per sample.")
    names = _names(model, matrix, feature_names if feature_names is not None else names_given)
    if labels is None or is_outlier_detector(model):
        quality = measures.one_class(model, given, labels)
    elif is_classifier(model):
        quality = measures.classification(model, given, labels)
    else:
        quality = measures.regression(model, given, labels)
    training = _is_training_data(model, matrix)
    certificate, source = _certificate(model, matrix, labels, training)
    sections = [
        trained_section(model, matrix, labels, training),
        certificate_section(certificate, source, getattr(model, "diagnosis_", "")),
        section("quality", "How good the answers are", _caution(training), *quality.content),
        hardest_section(quality, matrix, labels, names, n_hardest),
        convergence_section(model),
        support_section(model),
        scaling_section(model, matrix, names),
        reproduce_section(model, matrix, labels),
    ]
    heading = title or f"{type(model).__name__} report"
    tiles = [*quality.tiles, *_tiles(model, certificate)]
    page = _page(
        heading, _summary(model, n_samples, certificate), tiles, [part for part in sections if part is not None]
    )
    with replacing(Path(path)) as stream:
        stream.write(page.encode())
    return Path(path)


def _matrix(X: Any) -> Any:
    """The samples as an array or a CSR matrix where they are numbers, as they are otherwise."""
    if sp.issparse(X):
        return X.tocsr()
    try:
        array = np.asarray(X)
    except ValueError:
        return X
    if array.ndim == 2 and array.dtype.kind in "biuf":
        return array if array.dtype.kind == "f" else array.astype(np.float64)
    return X


def _names(model: Any, X: Any, given: Any) -> list[str]:
    """Names of the columns."""
    n_features = X.shape[1] if hasattr(X, "shape") and len(X.shape) == 2 else 0
    if given is None:
        given = getattr(model, "feature_names_in_", None)
    if given is None:
        return [f"x{number + 1}" for number in range(n_features)]
    names = [str(name) for name in given]
    if len(names) != n_features:
        raise ValueError(f"There are {len(names)} feature names for {n_features} features: give one for each.")
    return names


def _is_training_data(model: Any, X: Any) -> bool | None:
    """Whether the model's support vectors are the rows of X at `support_`; None if that cannot be checked."""
    if not all(hasattr(model, name) for name in ("support_", "support_vectors_", "shape_fit_")):
        return None
    n_training = training_size(model)
    if n_training is None or num_samples(X) != n_training:
        return None if n_training is None else False
    vectors = model.support_vectors_
    if not (hasattr(X, "shape") and hasattr(vectors, "shape")) or vectors.shape[0] != len(model.support_):
        return None
    own = X[model.support_]
    if sp.issparse(own) or sp.issparse(vectors):
        return bool(abs(sp.csr_matrix(own) - sp.csr_matrix(vectors)).sum() == 0)
    return bool(np.array_equal(own, vectors))


def _certificate(model: Any, X: Any, y: Any, training: bool | None) -> tuple[Any, str]:
    """The model's certificate, or one computed now from the training data, and where it comes from."""
    if hasattr(model, "certificate_"):
        return model.certificate_, "computed at the end of training"
    if training:
        try:
            return replace(verify(model, X, y), status=None), "computed for this report"
        except (TypeError, ValueError):
            pass
    return None, ""


def _caution(training: bool | None) -> Html | None:
    """Scores on training data flatter."""
    if training is False:
        return None
    text = "These are the data the model was trained on: expect lower figures on new data. Keep some aside to see them."
    if training is None:
        text = "If these are the data the model was trained on, figures on new data will be lower."
    return tag("p", text, class_="note warn")


def _tiles(model: Any, certificate: Any) -> list[tuple[str, str]]:
    """The figures at the top that do not depend on the kind of machine."""
    tiles = []
    if hasattr(model, "n_support_"):
        count = int(np.sum(model.n_support_))
        n_training = training_size(model)
        tiles.append(("Support vectors", f"{count:,}" + (f" ({percent(count / n_training)})" if n_training else "")))
    if isinstance(certificate, Certificate):
        tiles.append(("Distance from the optimum", f"\u2264 {percent(max(certificate.gap, 0.0))}"))
        if certificate.seconds == certificate.seconds:
            tiles.append(("Training", f"{number(certificate.seconds, 3)} s"))
    return tiles


def _summary(model: Any, n_samples: int, certificate: Any) -> str:
    """The page in two sentences."""
    kernel = getattr(getattr(model, "_expansion", None), "kernel", None)
    kind = f" with a {type(kernel).__name__} kernel" if kernel is not None else ""
    n_training = training_size(model)
    size = "" if n_training is None else f", trained on {n_training:,} samples"
    first = f"{type(model).__name__}{kind}{size}, and its answers to {n_samples:,} samples."
    return f"{first} {sentences(certificate)[0]}" if isinstance(certificate, Certificate) else first


def _page(title: str, summary: str, tiles: list[tuple[str, str]], sections: list[Section]) -> Html:
    """The whole document."""
    style = files("widemargin.report").joinpath("style.css").read_text(encoding="utf-8")
    links = [tag("li", tag("a", part.heading, href=f"#{part.anchor}")) for part in sections]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Html(style)),
    )
    shown = [tag("div", tag("dt", name), tag("dd", value)) for name, value in tiles]
    top = tag(
        "header",
        tag("h1", title),
        tag("p", summary, class_="lead"),
        tag("dl", *shown, class_="tiles"),
        tag("nav", tag("ul", *links), aria_label="Sections"),
    )
    foot = tag(
        "footer", f"Written by widemargin {widemargin.__version__}. This page is one file and loads nothing else."
    )
    body = tag("body", top, tag("main", *sections), foot)
    return join([Html("<!doctype html>\n"), tag("html", head, body, lang="en")])
