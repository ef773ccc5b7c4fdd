"""Linear machines: LinearSVC and LinearSVR, by semismooth Newton and coordinate descent instead of a kernel matrix."""

from widemargin.linear.svc import LinearSVC
from widemargin.linear.svr import LinearSVR

__all__ = ["LinearSVC", "LinearSVR"]
