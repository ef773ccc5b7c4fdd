"""A stand-in for the training of families: every task is fitted by itself, and scored the way families are."""

import time

from sklearn.pipeline import Pipeline

from widemargin._sklearn import safe_split
from widemargin.model_selection.direct_scores import DirectScorer
from widemargin.model_selection.tasks import Done, n_test, result_of_fitted, result_of_scores


def train_each(tasks, n_jobs=None):
    """Answer all tasks whose fit succeeds, the direct way where there is one."""
    return {number: done for number, task in enumerate(tasks) if (done := train(task)) is not None}


def train(task):
    start = time.perf_counter()
    try:
        fitted = task.candidate()
        X, y = safe_split(fitted, task.X, task.y, task.train)
        fitted.fit(X, y, **task.fit_params_of(task.train))
    except Exception:
        return None
    seconds = time.perf_counter() - start
    last = fitted.steps[-1][1] if isinstance(fitted, Pipeline) else fitted
    certificate = getattr(last, "certificate_", None)
    direct = DirectScorer.of(task.scorer, fitted, task.y, task.score_params)
    if direct is None:
        return Done(result_of_fitted(task, fitted, seconds), certificate)
    X_test, _ = safe_split(fitted, task.X, task.y, task.test, task.train)
    test_scores = direct(task.test, fitted.predict(X_test))
    train_scores = direct(task.train, fitted.predict(X)) if task.return_train_score else None
    return Done(result_of_scores(task, test_scores, train_scores, n_test(task), seconds, 0.0), certificate)
