"""Sources of kernel rows for the solvers."""

from widemargin.gram.cached import CachedGram
from widemargin.gram.full import FullGram
from widemargin.gram.gram import Gram, kernel_product

__all__ = ["CachedGram", "FullGram", "Gram", "kernel_product"]
