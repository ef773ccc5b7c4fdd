"""Relevance vector machines."""

from widemargin.relevance.machines import RVC, RVR

__all__ = ["RVC", "RVR"]
