"""The answer to "Verify with widemargin": a fit of the same points by the library, beside the page's own."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

from widemargin.playground.points import arrays_from, checked_parameters, estimator_of

TOL = 1e-8  # far below what the page shows, so that the objectives can be compared
AGREES = 1e-6  # relative difference of two objectives


def answer_to(request: Mapping[str, Any]) -> dict[str, Any]:
    """Fit what a request of the page asks for; return what the page shows, also if it cannot be fitted.

    request : number, points, parameters, and the page's objective and number of support vectors
    """
    number = request.get("number") if isinstance(request, Mapping) else None
    try:
        return {"number": number, **_fitted(request)}
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        return {"number": number, "agrees": False, "text": f"widemargin cannot fit this: {error}"}


def _fitted(request: Mapping[str, Any]) -> dict[str, Any]:
    parameters = checked_parameters(request["parameters"])
    X, y = arrays_from(request["points"], parameters["machine"])
    model = estimator_of(parameters, tol=TOL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the certificate says it
        model.fit(X, y)
    certificate = model.certificate_
    theirs = float(request.get("objective", math.nan))
    ours = certificate.objective
    agrees = abs(theirs - ours) <= AGREES * max(abs(theirs), abs(ours), 1e-12)
    support = len(model.support_)
    lines = [
        f"objective        page {theirs:.10g}",
        f"           widemargin {ours:.10g}",
        f"support vectors  page {request.get('support')}, widemargin {support}",
        "The two objectives agree." if agrees else "The two objectives differ.",
        "",
        str(certificate),
    ]
    return {"agrees": agrees, "objective": ours, "support": support, "text": "\n".join(lines)}
