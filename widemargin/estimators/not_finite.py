"""A warning for decision values that are not finite."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.monitor.user_warning import warn_user

NAMED_ROWS = 5  # rows that the warning lists


def warn_not_finite(rows: NDArray[np.intp]) -> None:
    """Warn if there are rows whose decision values are infinite or NaN in double precision."""
    if not len(rows):
        return
    named = ", ".join(str(row) for row in rows[:NAMED_ROWS]) + (", ..." if len(rows) > NAMED_ROWS else "")
    warn_user(
        f"Decision values are infinite or NaN for {len(rows)} of the samples (rows {named}); predictions there mean "
        "nothing. Values of X or of the kernel are so large that products overflow in double precision: scale the "
        "features (StandardScaler), or use a smaller gamma, coef0 or degree; a kernel function of your own must return "
        "finite numbers."
    )
