"""A report on a fitted model as one self-contained HTML page, which loads no other resources.

advice -> what was trained -> how close to the optimum -> how good -> hardest examples -> how training went
-> support vectors -> scale of the features -> how to reproduce

The modules of this folder measure; the words, tables and charts of the page are in templates/, one file per section.
"""

from __future__ import annotations

import math
import os
import platform
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from sklearn.base import is_classifier, is_outlier_detector

import widemargin
from widemargin._sklearn import num_samples
from widemargin.certificate import Certificate
from widemargin.inspection.verification import verify
from widemargin.report import advice
from widemargin.report.advice import advice_for, feature_scales, kernel_width
from widemargin.report.charts import tick
from widemargin.report.numbers import number, percent
from widemargin.report.quality import classification, hardest, one_class, regression
from widemargin.report.search import search_facts
from widemargin.report.subject import Subject, subject_of
from widemargin.report.trained import fingerprints, support_facts, trained_facts, way_to_the_optimum
from widemargin.storage.atomic import replacing


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
    model : fitted classifier, regressor or one-class SVM, or a pipeline or search around one
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Samples to answer, as `predict` takes them. With the training data the certificate of a model without one is
        computed, and the page says that scores on training data flatter.
    y : array-like of shape (n_samples,) or None
        What the answers should be; None for a one-class SVM without labels.
    path : path of the page; an existing file is replaced as a whole or not at all
    title : str or None, default None
        Heading of the page; None names the model.
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
    labels = None if y is None else np.asarray(y).ravel()
    n_samples = num_samples(X)
    if n_samples == 0:
        raise ValueError("X holds no samples: a report needs some to be about.")
    if labels is not None and len(labels) != n_samples:
        raise ValueError(f"X has {n_samples} samples and y has {len(labels)}: give one answer per sample.")
    subject = subject_of(model, X, labels, feature_names)
    model = subject.model
    if labels is None and not is_outlier_detector(model):
        raise ValueError(f"A report on a {type(model).__name__} needs y, the right answers to X.")
    measure = one_class if is_outlier_detector(model) else classification if is_classifier(model) else regression
    quality = measure(subject)
    certificate, source = _certificate(subject)
    support, scales, typical = support_facts(subject), feature_scales(subject), kernel_width(subject)
    page = _template().render(
        title=title or f"{subject.machine} report",
        subject=subject,
        trained=trained_facts(subject),
        search=search_facts(model),
        certificate=certificate,
        bounds_optimum=isinstance(certificate, Certificate),
        source=source,
        as_stated=source == AS_STATED,
        has_costs=source != COMPUTED_HERE,
        stated=getattr(model, "certificate_", certificate),
        diagnosis=getattr(model, "diagnosis_", ""),
        quality=quality,
        hardest=hardest(subject, quality, n_hardest),
        way=way_to_the_optimum(model),
        support=support,
        scales=scales,
        typical=typical,
        advice=advice_for(subject, certificate, scales, typical, support.get("count")),
        fingerprints=fingerprints(subject),
    )
    with replacing(Path(path)) as stream:
        stream.write(page.encode())
    return Path(path)


AS_STATED, COMPUTED_HERE = "as stated in the file", "computed for this report"  # the latter knows no training


@cache
def _template() -> Template:
    """Return the page template; all inserted values are escaped."""
    pages = Environment(
        loader=PackageLoader("widemargin.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters |= {"number": number, "percent": percent, "tick": tick, "at": "{:.1f}".format}
    pages.tests["finite"] = math.isfinite
    pages.globals |= {"widemargin": widemargin, "version": version, "platform": platform, "limits": advice}
    return pages.get_template("page.html")


def _certificate(subject: Subject) -> tuple[Any, str]:
    """The certificate and where it comes from: a fit in this process, or a file, which may state anything.

    That of a file is computed anew where the training data are there. None if there is no certificate.
    """
    stated = getattr(subject.model, "certificate_", None)
    if stated is not None and not subject.is_from_file:
        return stated, "computed at the end of training"
    if subject.is_training_data:
        try:
            return replace(verify(subject.model, subject.X, subject.y), status=None), COMPUTED_HERE
        except (TypeError, ValueError):
            pass
    return stated, AS_STATED if stated is not None else ""
