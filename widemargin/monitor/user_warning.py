"""Warnings that point at the line of the user's that caused them, however deep inside the package they arise."""

from __future__ import annotations

import sys
import warnings

OURS = ("widemargin", "sklearn", "joblib")  # frames of these packages are not the user's


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the nearest frame outside the package and scikit-learn, which wraps every `fit`."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OURS:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level + 1)
