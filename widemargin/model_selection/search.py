"""GridSearchCV and RandomizedSearchCV: scikit-learn's, in which families of candidates are trained together.

Everything but the training of families is scikit-learn's own code: splits, scoring, formatting, refit and errors. How
answers get into its `fit` is described in `joblib_backend.py` and docs/decisions/0013-families.md.
"""

from __future__ import annotations

from typing import Any

import sklearn.model_selection

from widemargin import _sklearn
from widemargin.certificate import Certificate
from widemargin.model_selection import families
from widemargin.model_selection.joblib_backend import collecting
from widemargin.model_selection.tasks import Done, has_callbacks


class TrainsFamilies:
    """`fit` of a scikit-learn search, with families of candidates trained together."""

    certificates_: list[list[Certificate | None]]

    def fit(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit all candidates on all splits, and the best one on all samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features) or (n_samples, n_samples)
            Training samples, or their kernel matrix if the estimator's kernel is "precomputed".
        y : array-like of shape (n_samples,), default None
            Labels or targets.
        **params : dict
            Passed to `fit` of the estimator, to the scorer and to the splitter (`groups`), as in scikit-learn.

        Returns
        -------
        self : object
            The fitted search.
        """
        search: Any = super()
        done: list[Done | None] = []
        if _sklearn.fit_and_score is None or has_callbacks(self):
            search.fit(X, y, **params)  # callbacks are called for every fit by scikit-learn
        else:
            together = families.train_together
            with collecting(together, self.n_jobs, self.pre_dispatch) as backend:  # type: ignore[attr-defined]
                search.fit(X, y, **params)
            done = backend.done
        self.certificates_ = self._by_candidate(done)
        return self

    def _by_candidate(self, done: list[Done | None]) -> list[list[Certificate | None]]:
        """Certificates by candidate and split; tasks come in that order."""
        n_candidates, n_splits = len(self.cv_results_["params"]), self.n_splits_  # type: ignore[attr-defined]
        certificates = [None if answer is None else answer.certificate for answer in done]
        if len(certificates) != n_candidates * n_splits:
            certificates = [None] * (n_candidates * n_splits)
        return [certificates[first : first + n_splits] for first in range(0, len(certificates), n_splits)]


class GridSearchCV(TrainsFamilies, sklearn.model_selection.GridSearchCV):
    """`sklearn.model_selection.GridSearchCV`, with families of candidates trained together.

    Candidates of `SVC`, `SVR`, `NuSVC` and `NuSVR`, alone or at the end of a Pipeline, that differ only in C, gamma,
    epsilon, nu and class weight share kernel values and starting points. All other candidates, and all other steps of
    the search, are scikit-learn's own code.

    Parameters
    ----------
    estimator : estimator object
        The estimator to tune, or a Pipeline that ends with it.
    param_grid : dict of str to sequence, or list of such dicts
        Values to try for each parameter.
    scoring : str, callable, list, tuple or dict, default None
        One or several scorers; None is the estimator's `score`.
    n_jobs : int, default None
        Threads for candidates that are trained together, and jobs for all others. None is what
        `joblib.parallel_config` says; without it the threads that one fit of the estimator uses. Where that
        configuration names workers outside the process ("loky" with `n_jobs`, "dask"), each trains candidates of one
        gamma.
    refit : bool, str or callable, default True
        Fit the best candidate on all samples; the name of a scorer; or a function of `cv_results_` that returns the
        index of the best candidate.
    cv : int, splitter or iterable of (train, test), default None
        Splits; None is 5 folds.
    verbose : int, default 0
        Number of details to print.
    pre_dispatch : int or str, default "2*n_jobs"
        Number of jobs dispatched at a time.
    error_score : "raise" or number, default nan
        Score of a fit that fails.
    return_train_score : bool, default False
        Score the training samples of each split as well.

    Attributes
    ----------
    certificates_ : list of list of Certificate or None
        For each candidate, the certificate of each split; None where scikit-learn's own code did the fit.
    cv_results_, best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, refit_time_, ...
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from widemargin import SVC
    >>> from widemargin.model_selection import GridSearchCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = GridSearchCV(SVC(), {"C": [1, 10, 100]}, cv=3).fit(X, y)
    >>> search.best_params_
    {'C': 100}
    """


class RandomizedSearchCV(TrainsFamilies, sklearn.model_selection.RandomizedSearchCV):
    """`sklearn.model_selection.RandomizedSearchCV`, with families of candidates trained together.

    See `GridSearchCV` for what is trained together and for parameters that are not described here.

    Parameters
    ----------
    estimator : estimator object
        The estimator to tune, or a Pipeline that ends with it.
    param_distributions : dict of str to sequence or distribution, or list of such dicts
        Values of each parameter, or an object with a method `rvs` to sample from.
    n_iter : int, default 10
        Number of candidates.
    random_state : int, RandomState or None, default None
        Seed of the samples.

    Attributes
    ----------
    certificates_ : list of list of Certificate or None
        For each candidate, the certificate of each split; None where scikit-learn's own code did the fit.
    cv_results_, best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, refit_time_, ...
        As in scikit-learn.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_breast_cancer
    >>> from widemargin import SVC
    >>> from widemargin.model_selection import RandomizedSearchCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = RandomizedSearchCV(SVC(), {"C": loguniform(1, 1e3)}, n_iter=4, cv=3, random_state=0).fit(X, y)
    >>> len(search.certificates_)
    4
    """
