"""The certificate of a model in sentences, for people who do not know what a KKT violation is."""

from __future__ import annotations

import math
from typing import Any

from widemargin.certificate import Certificate
from widemargin.monitor.status import Status
from widemargin.report.html import Section, facts, number, percent, section, tag


def sentences(certificate: Certificate) -> list[str]:
    """What the certificate says, one thought per sentence.

    Examples
    --------
    >>> from widemargin import SVC
    >>> model = SVC(kernel="linear").fit([[-1.0], [1.0]], [0, 1])
    >>> sentences(model.certificate_)[0]
    'The model is optimal to the accuracy that was asked for.'
    """
    holds = certificate.holds
    told = [
        "The model is optimal to the accuracy that was asked for."
        if holds
        else "The model may be optimal to the accuracy that was asked for, but rounding keeps that from being proven."
        if certificate.is_undecided
        else "The model is not optimal to the accuracy that was asked for: treat it as a preliminary answer."
    ]
    if math.isfinite(certificate.gap):
        if certificate.gap <= 0:
            told.append("Upper and lower bound of the training problem agree: no other model could do better on it.")
        else:
            condition = "" if certificate.is_psd else "if the kernel is positive semi-definite, "
            told.append(
                f"On the training problem, {condition}no other model could do better by more than "
                f"{percent(certificate.gap)}: that is the duality gap of this model, with rounding errors counted."
            )
    else:
        told.append(
            "The training problem has no finite lower bound here, so the distance from the optimum is not known."
        )
    compare = "within" if certificate.violation <= certificate.tol else "more than"
    told.append(
        f"The largest violation of the optimality conditions is at most {number(certificate.violation, 3)}, {compare} "
        f"the tolerance of {number(certificate.tol, 3)}."
    )
    if certificate.status is not None and certificate.status is not Status.OPTIMAL:
        told.append(certificate.status.value)
    return told


def certificate_section(certificate: Any, source: str, diagnosis: str = "") -> Section:
    """The part of the page on the certificate; `source` says where it comes from.

    A certificate of another kind than `Certificate` is shown as it prints itself.
    """
    title = "How close to the optimum"
    if certificate is None:
        return section(
            "certificate",
            title,
            tag(
                "p",
                "This model carries no certificate, and none could be computed, because these are not the data it was "
                "trained on. widemargin.verify(model, X, y) computes one from the training data.",
                class_="note warn",
            ),
        )
    verdict = ("certified", "good") if certificate.holds else ("not certified", "bad")
    shown = tag("p", tag("span", verdict[0], class_=f"verdict {verdict[1]}"))
    if not isinstance(certificate, Certificate):
        lines = [line.partition("  ") for line in str(certificate).splitlines()[1:]]
        return section(
            "certificate", title, shown, facts([(name, rest.strip()) for name, _, rest in lines], "The certificate")
        )
    rows = [
        ("Largest violation of the optimality conditions", number(certificate.violation, 3)),
        ("Tolerance", f"{number(certificate.tol, 3)} (rule: {certificate.criterion})"),
        ("Objective of this model (dual value)", number(certificate.objective, 10)),
        ("Upper bound on the optimum (primal)", number(certificate.primal, 10)),
        ("Lower bound on the optimum (dual)", number(certificate.dual, 10)),
        ("Relative duality gap, at most", number(certificate.gap, 3)),
        ("Violation of the constraints", number(certificate.infeasibility, 2)),
        ("Steps of the solver", number(certificate.iterations)),
        ("Rows of the kernel matrix computed", number(certificate.rows_computed)),
        ("Seconds of training", number(certificate.seconds, 3)),
    ]
    known = [(name, value) for name, value in rows if value != "not known"]
    return section(
        "certificate",
        title,
        shown,
        tag("p", " ".join(sentences(certificate))),
        tag("p", diagnosis, class_="note warn") if diagnosis else None,
        facts(known, f"The certificate, {source}"),
    )
