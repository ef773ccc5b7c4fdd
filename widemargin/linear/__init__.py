"""Linear machines: LinearSVC and LinearSVR, by semismooth Newton and coordinate descent instead of a kernel matrix.

The estimators are imported when first asked for: training.py takes the solvers of this package, and the estimators
stand above training.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from widemargin.linear.svc import LinearSVC
    from widemargin.linear.svr import LinearSVR

__all__ = ["LinearSVC", "LinearSVR"]


def __getattr__(name: str) -> Any:
    """One of the two estimators."""
    if name == "LinearSVC":
        from widemargin.linear.svc import LinearSVC

        return LinearSVC
    if name == "LinearSVR":
        from widemargin.linear.svr import LinearSVR

        return LinearSVR
    raise AttributeError(f"module 'widemargin.linear' has no attribute {name!r}")
