"""The kernel perceptron, with its averaged and voted forms, and the bound on its mistakes."""

from widemargin.perceptron.bound import MistakeBound
from widemargin.perceptron.estimator import KernelPerceptron

__all__ = ["KernelPerceptron", "MistakeBound"]
