"""Private names of scikit-learn: imported here, and by every other module from here.

Estimators of scikit-learn and of other packages use them, but they may move without notice. Then only this file
changes; `tests/project/test_private_names.py` lists the supported versions, and reports a missing name.

Estimators also inherit private methods from scikit-learn. Three modules call some, for lack of a public interface:
`estimators/plain_data.py` (the diagram in a notebook), `io/model_file.py` (the check of parameters) and
`monitor/callbacks.py` (callbacks, from 1.9 on). `io/sklearn_models.py` reads and writes attributes of fitted models.
"""

from __future__ import annotations

from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import Hidden, Interval, StrOptions
from sklearn.utils._repr_html.estimator import _VisualBlock as VisualBlock
from sklearn.utils.metaestimators import _safe_split as safe_split
from sklearn.utils.multiclass import _ovr_decision_function as ovr_decision_function
from sklearn.utils.validation import _num_samples as num_samples

__all__ = [
    "Hidden", "Interval", "StrOptions", "VisualBlock", "fit_context", "num_samples", "ovr_decision_function",
    "safe_indexing", "safe_split",
]  # fmt: skip
