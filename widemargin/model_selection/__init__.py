"""Choosing parameters by cross-validation. Each name is imported when first used.

GridSearchCV, RandomizedSearchCV    scikit-learn's, with candidates that differ in few parameters trained together
SVCCV, SVRCV                        find C, gamma and epsilon by themselves, and are then the model
"""

from typing import TYPE_CHECKING

from widemargin import _lazy

if TYPE_CHECKING:
    from widemargin.model_selection.search import GridSearchCV, RandomizedSearchCV
    from widemargin.model_selection.svccv import SVCCV, SVRCV

__all__ = ["SVCCV", "SVRCV", "GridSearchCV", "RandomizedSearchCV"]

_HOMES = {"SVCCV": "svccv", "SVRCV": "svccv", "GridSearchCV": "search", "RandomizedSearchCV": "search"}

__getattr__ = _lazy.names_of(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
