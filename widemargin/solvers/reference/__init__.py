"""The training algorithms of the literature, one per file, plain on purpose: to read beside their texts, and as oracles."""

from widemargin.solvers.reference.keerthi import Keerthi
from widemargin.solvers.reference.platt import Platt

__all__ = ["Keerthi", "Platt"]
