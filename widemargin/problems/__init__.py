"""Problems: builders of `SignedDual`, one short function per SVM."""

from widemargin.problems.classification import hinge, nu_classification, nu_margin, squared_hinge
from widemargin.problems.dual import SignedDual
from widemargin.problems.fixed_bias import safe_tau, without_bias
from widemargin.problems.one_class import one_class
from widemargin.problems.regression import epsilon_insensitive, nu_regression, nu_tube, squared_epsilon_insensitive

__all__ = [
    "SignedDual",
    "epsilon_insensitive",
    "hinge",
    "nu_classification",
    "nu_margin",
    "nu_regression",
    "nu_tube",
    "one_class",
    "safe_tau",
    "squared_epsilon_insensitive",
    "squared_hinge",
    "without_bias",
]
