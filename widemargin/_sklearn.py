"""Private names of scikit-learn: imported here, and by every other module from here.

Estimators of scikit-learn and of other packages use them, but they may move without notice. Then only this file
changes; `tests/project/test_private_names.py` lists the supported versions, and reports a missing name.

Estimators also inherit private methods from scikit-learn. Three modules call some, for lack of a public interface:
`estimators/plain_data.py` (the diagram in a notebook), `io/model_file.py` (the check of parameters) and
`monitor/callbacks.py` (callbacks, from 1.9 on). `io/sklearn_models.py` reads and writes attributes of fitted models.

Without the last group of names our searches run scikit-learn's code alone: slower, nothing else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import Hidden, Interval, StrOptions
from sklearn.utils._repr_html.estimator import _VisualBlock as VisualBlock
from sklearn.utils.metaestimators import _safe_split as safe_split
from sklearn.utils.multiclass import _ovr_decision_function as ovr_decision_function
from sklearn.utils.validation import _num_samples as num_samples

if TYPE_CHECKING:
    from sklearn.metrics._scorer import _MultimetricScorer as MultimetricScorer
    from sklearn.metrics._scorer import _PassthroughScorer as PassthroughScorer
    from sklearn.metrics._scorer import _Scorer as MetricScorer
    from sklearn.model_selection._validation import _fit_and_score as fit_and_score
    from sklearn.model_selection._validation import _score as score_fitted
    from sklearn.utils.validation import _check_method_params as params_of_rows

# Names of searches, imported when first used: commands that train one model need neither module.
_OF_SEARCHES = {
    "MultimetricScorer": ("sklearn.metrics._scorer", "_MultimetricScorer"),
    "PassthroughScorer": ("sklearn.metrics._scorer", "_PassthroughScorer"),
    "MetricScorer": ("sklearn.metrics._scorer", "_Scorer"),
    "fit_and_score": ("sklearn.model_selection._validation", "_fit_and_score"),
    "score_fitted": ("sklearn.model_selection._validation", "_score"),
    "params_of_rows": ("sklearn.utils.validation", "_check_method_params"),
}


def __getattr__(name: str) -> Any:
    """Return a name of searches; None if this version of scikit-learn does not have it."""
    if name not in _OF_SEARCHES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, private = _OF_SEARCHES[name]
    try:
        return getattr(import_module(module), private, None)
    except ImportError:  # pragma: no cover
        return None


__all__ = [
    "Hidden", "Interval", "MetricScorer", "MultimetricScorer", "PassthroughScorer", "StrOptions", "VisualBlock",
    "fit_and_score", "fit_context", "num_samples", "ovr_decision_function", "params_of_rows", "safe_indexing",
    "safe_split", "score_fitted",
]  # fmt: skip
