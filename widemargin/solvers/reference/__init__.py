"""The training algorithms of the literature, one per file, kept simple: to read beside their papers, and as oracles."""

from widemargin.solvers.reference.adatron import Adatron
from widemargin.solvers.reference.chunking import Chunking
from widemargin.solvers.reference.coordinate import Coordinate
from widemargin.solvers.reference.fixed_threshold import FixedThreshold
from widemargin.solvers.reference.gradient import Gradient
from widemargin.solvers.reference.keerthi import Keerthi
from widemargin.solvers.reference.multiplicative import Multiplicative
from widemargin.solvers.reference.nearest_points import NearestPoints
from widemargin.solvers.reference.osuna import Osuna
from widemargin.solvers.reference.perceptron import Perceptron
from widemargin.solvers.reference.platt import Platt
from widemargin.solvers.reference.qp import QuadraticProgramme
from widemargin.solvers.reference.simplified import Simplified

__all__ = [
    "Adatron",
    "Chunking",
    "Coordinate",
    "FixedThreshold",
    "Gradient",
    "Keerthi",
    "Multiplicative",
    "NearestPoints",
    "Osuna",
    "Perceptron",
    "Platt",
    "QuadraticProgramme",
    "Simplified",
]
