"""One fit-and-score task of a search, and the result that scikit-learn's `_fit_and_score` would return for it.

A result is made from predictions, by the direct path (`direct_scores.py`), or from a fitted estimator, by the scorer
itself. Both print the lines that `verbose` asks for.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib.logger import short_format_time
from sklearn.base import clone

from widemargin import _sklearn
from widemargin.certificate import Certificate

LINE_WIDTH = 80  # columns of scikit-learn's progress lines


@dataclass(slots=True)
class Task:
    """The arguments of scikit-learn's `_fit_and_score`, by their names there: `Task(*args, **kwargs)`.

    An argument that is not listed raises TypeError: a later version of scikit-learn then does the task itself.
    """

    estimator: Any
    X: Any
    y: Any
    scorer: Any = field(kw_only=True)
    train: Any = field(kw_only=True)
    test: Any = field(kw_only=True)
    verbose: int = field(kw_only=True)
    parameters: dict[str, Any] | None = field(kw_only=True)
    fit_params: dict[str, Any] | None = field(kw_only=True)
    score_params: dict[str, Any] | None = field(kw_only=True)
    return_train_score: bool = field(kw_only=True, default=False)
    return_parameters: bool = field(kw_only=True, default=False)
    return_n_test_samples: bool = field(kw_only=True, default=False)
    return_times: bool = field(kw_only=True, default=False)
    return_estimator: bool = field(kw_only=True, default=False)
    split_progress: tuple[int, int] | None = field(kw_only=True, default=None)
    candidate_progress: tuple[int, int] | None = field(kw_only=True, default=None)
    error_score: Any = field(kw_only=True, default=np.nan)
    caller: Any = field(kw_only=True, default=None)
    callback_ctx: Any = field(kw_only=True, default=None)

    def candidate(self) -> Any:
        """The estimator with the candidate's parameters; values that are estimators are cloned, as in scikit-learn."""
        if self.parameters is None:
            return self.estimator
        return self.estimator.set_params(**clone(self.parameters, safe=False))

    def fit_params_of(self, rows: Any) -> dict[str, Any]:
        """Parameters of `fit`, those with one value per sample for the given rows."""
        return _sklearn.params_of_rows(self.X, params=self.fit_params or {}, indices=rows)

    def score_params_of(self, rows: Any) -> dict[str, Any]:
        """Parameters of the scorer, those with one value per sample for the given rows."""
        return _sklearn.params_of_rows(self.X, params=self.score_params or {}, indices=rows)


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a task, as `_fit_and_score` returns it, and the certificate of its fit."""

    result: dict[str, Any]
    certificate: Certificate | None = None


def has_callbacks(estimator: Any) -> bool:
    """Whether an estimator, or one inside it, has callbacks (scikit-learn 1.9)."""
    inside = estimator.get_params(deep=True).values() if hasattr(estimator, "get_params") else ()
    return any(hasattr(each, "_skl_callbacks") for each in (estimator, *inside))


def result_of_fitted(task: Task, fitted: Any, fit_time: float) -> dict[str, Any]:
    """Result of a fitted estimator: its scorer is called on the test rows, and on the training rows if asked for.

    `fitted` is `task.candidate()`, or a clone of it, after fitting. A scorer that raises does what `error_score` says.
    """
    test_scores, score_time = _scores_of_fitted(task, fitted, task.test)
    train_scores = _scores_of_fitted(task, fitted, task.train)[0] if task.return_train_score else None
    return result_of_scores(task, test_scores, train_scores, n_test(task), fit_time, score_time)


def _scores_of_fitted(task: Task, fitted: Any, rows: Any) -> tuple[Any, float]:
    """Scores on some rows, and the seconds that took."""
    start = time.perf_counter()
    X, y = _sklearn.safe_split(fitted, task.X, task.y, rows, task.train)
    scores = _sklearn.score_fitted(fitted, X, y, task.scorer, task.score_params_of(rows), task.error_score)
    return scores, time.perf_counter() - start


def n_test(task: Task) -> int:
    """Number of test samples; splits may be masks."""
    rows = np.asarray(task.test)
    return int(np.count_nonzero(rows)) if rows.dtype == bool else len(rows)


def result_of_scores(
    task: Task, test_scores: Any, train_scores: Any, n_test_samples: int, fit_time: float, score_time: float
) -> dict[str, Any]:
    """The dictionary that `_fit_and_score` returns for a fit that succeeded.

    Scores are a float, or a dictionary of floats if the search has several scorers.
    """
    if task.verbose > 1:
        _print_progress(task, test_scores, train_scores, fit_time + score_time)
    result: dict[str, Any] = {"fit_error": None, "test_scores": test_scores}
    if task.return_train_score:
        result["train_scores"] = train_scores
    if task.return_n_test_samples:
        result["n_test_samples"] = n_test_samples
    if task.return_times:
        result["fit_time"] = fit_time
        result["score_time"] = score_time
    if task.return_parameters:
        result["parameters"] = task.parameters
    return result


def _print_progress(task: Task, test_scores: Any, train_scores: Any, seconds: float) -> None:
    """Print the lines of `verbose` > 1: [CV 1/5; 3/9] END .....C=1;, score=0.9 total time=   0.1s."""
    progress = ""
    if task.verbose > 2 and task.split_progress is not None:
        progress = f" {task.split_progress[0] + 1}/{task.split_progress[1]}"
        if task.candidate_progress and task.verbose > 9:
            progress += f"; {task.candidate_progress[0] + 1}/{task.candidate_progress[1]}"
    parameters = task.parameters or {}
    candidate = ", ".join(f"{name}={parameters[name]}" for name in sorted(parameters))
    if task.verbose > 9:
        print(f"[CV{progress}] START {candidate}".ljust(LINE_WIDTH, "."))
    text = f"{candidate};" if candidate else ""
    if task.verbose > 2:
        text += _scores_text(test_scores, train_scores)
    text += f" total time={short_format_time(seconds)}"
    print(f"[CV{progress}] END " + text.rjust(LINE_WIDTH - len(f"[CV{progress}] END "), "."))


def _scores_text(test_scores: Any, train_scores: Any) -> str:
    """Scores to three digits, several in the order of their names."""
    if isinstance(test_scores, dict):
        text = ""
        for name in sorted(test_scores):
            train = "" if train_scores is None else f"train={train_scores[name]:.3f}, "
            text += f" {name}: ({train}test={test_scores[name]:.3f})"
        return text
    if train_scores is None:
        return f", score={test_scores:.3f}"
    return f", score=(train={train_scores:.3f}, test={test_scores:.3f})"
