"""Warnings that point to the user's line, however deep inside the package they are raised."""

from __future__ import annotations

import sys
import warnings

OURS = ("widemargin", "sklearn", "joblib")  # packages whose frames are skipped


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the nearest frame outside the package and scikit-learn, which wraps every `fit`."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OURS:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level + 1)
