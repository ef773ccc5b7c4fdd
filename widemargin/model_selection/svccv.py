"""SVCCV and SVRCV: support vector machines that find C, gamma and epsilon by cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.calibration.sigmoid import fit_sigmoid
from widemargin.estimators.base import Run, Vector
from widemargin.estimators.parameters import estimator, found_by_fit, option, whole
from widemargin.estimators.plain_data import are_plain_labels
from widemargin.estimators.single_problem import SVR
from widemargin.estimators.svc import SVC
from widemargin.estimators.training_set import TrainingSet
from widemargin.model_selection import ranges
from widemargin.model_selection.cross_validated import EPSILONS, CrossValidated, axis_of
from widemargin.model_selection.strategy import Axis
from widemargin.models import multiclass


@estimator
class SVCCV(CrossValidated, SVC):
    """Support vector classification that finds C and gamma by cross-validation.

    It finds ranges from the data, tries a coarse grid, extends it where the best cell is at its edge, refines it around
    the best cell, and trains with the best parameters on all samples: after `fit` it is an SVC with `C_` and `gamma_`.
    Scale the features first.

    Parameters
    ----------
    ... Cs, gammas, cv, scoring, selection
    probability : bool, default False
        Fit sigmoids for `predict_proba` to the held-out decision values of the chosen cell; needs no further fits.
    ... time_limit, random_state, verbose
    ... kernel, degree, coef0, shrinking, tol, cache_size
    class_weight : dict, "balanced" or None, default None
        Factor on C of each class, as in `SVC`; "balanced" is computed for the training samples of each split.
    ... max_iter, decision_function_shape, break_ties
    loss : {"hinge", "squared_hinge"}, default "hinge"
        "squared_hinge" charges C xi_i^2 / 2 instead (2-norm soft margin).
    ... multi_class, solver, stopping, on_interrupt, n_jobs, warm_start, trace, checkpoint

    Attributes
    ----------
    ... C_, Cs_, scores_, cv_results_, best_params_, oof_decision_, edges_, search_complete_, n_splits_
    ... support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, classes_, n_iter_, probA_, n_features_in_
    certificate_ : Certificate
        Of the machine trained on all samples, as in `SVC`.
    ... status_, diagnosis_, history_

    Notes
    -----
    Ctrl-C ends the search; the best of the cells tried so far is trained, and `on_interrupt` says whether `fit` then
    raises. Before the first cell is complete there is nothing to keep, and it raises at once. `resume(X, y)` continues
    the search, also after pickling or loading.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from widemargin import SVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVCCV(random_state=0).fit(X, y)
    >>> bool(model.best_score_ > 0.95), sorted(model.best_params_)
    (True, ['C', 'gamma'])
    >>> honest = cross_val_score(SVCCV(Cs=3, gammas=3, random_state=0), X, y)
    """

    probability: bool = option(False, "boolean")

    _machine = SVC

    @property
    def _trains_folds(self) -> bool:
        return False

    def _read_targets(self, X: Any, y: Any, sample_weight: Any) -> tuple[TrainingSet, NDArray]:
        data = self._read(X, y, sample_weight, are_plain_labels)
        labels, self._label_weight = self._read_labels(data)
        self._labels, self._kept_rows = labels, data.kept
        return data, self.classes_[labels]

    def _fit(self, run: Run, X: Any, y: Any, sample_weight: Any) -> None:
        try:
            super()._fit(run, X, y, sample_weight)
            if self.probability:
                self._probA, self._probB = self._sigmoids()
        finally:
            for name in ("_labels", "_label_weight", "_kept_rows"):
                self.__dict__.pop(name, None)

    def _sigmoids(self) -> tuple[Vector, Vector]:
        """A and B of each two-class problem, from the held-out values; see calibration/sigmoid.py.

        Samples that no split holds out say nothing; where there is none at all, only the frequencies of the classes
        count.
        """
        values = self.oof_decision_.reshape(len(self.oof_decision_), -1)
        if len(values) != len(self._labels):  # samples of weight zero have no values
            values = values[self._kept_rows]
        fitted = []
        problems = multiclass.two_class_problems(self._labels, len(self.classes_), self._scheme())
        for problem, column in zip(problems, values.T, strict=True):
            own, weight = problem.of(column), problem.of(self._label_weight)
            known = np.isfinite(own)
            if not known.any():
                own, known = np.zeros_like(own), ~known
            fitted.append(fit_sigmoid(own[known].copy(), problem.sign[known], weight[known]))
        A, B = np.array(fitted).T
        return A, -B if len(self.classes_) == 2 else B


@estimator
class SVRCV(CrossValidated, SVR):
    """Support vector regression that finds C, gamma and epsilon by cross-validation.

    It works as `SVCCV` does. C and epsilon are measured in units of the spread of y; epsilon is searched at the best C
    and gamma only, unless values are given.

    Parameters
    ----------
    ... Cs, gammas
    epsilons : None, int or array-like, default None
        The same for epsilon; None begins with three values around the estimate of Cherkassky & Ma (2004).
    ... cv, scoring, selection, time_limit, random_state, verbose
    ... kernel, degree, coef0, tol, shrinking, cache_size, max_iter
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default "epsilon_insensitive"
        "squared_epsilon_insensitive" charges half the square of the excess.
    ... solver, stopping, on_interrupt, n_jobs, warm_start, trace, checkpoint

    Attributes
    ----------
    ... C_
    epsilon_ : float
        The half-width chosen.
    ... Cs_
    epsilons_ : array
        All values of epsilon tried, ascending; they are the third axis of `scores_`.
    ... scores_, cv_results_, best_params_, oof_decision_, edges_, search_complete_, n_splits_
    ... support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, n_features_in_
    ... certificate_, status_, diagnosis_, history_

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVRCV
    >>> X = np.linspace(0.0, 6.0, 60)[:, None]
    >>> model = SVRCV(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(model.best_score_ > 0.95), sorted(model.best_params_)
    (True, ['C', 'epsilon', 'gamma'])
    """

    epsilons: Any = option(None, None, whole(1), "array-like")

    epsilon: Any = found_by_fit("epsilon_")

    _machine = SVR

    def _read_targets(self, X: Any, y: Any, sample_weight: Any) -> tuple[TrainingSet, NDArray]:
        return self._read_column(X, y, sample_weight)

    def _spread(self, y: NDArray) -> float:
        return ranges.spread_of(y)

    def _more_axes(self, sample: Any, y: NDArray, n_samples: int) -> list[Axis]:
        options = {"degree": self.degree, "coef0": self.coef0}

        def own(count: int) -> Vector:
            return ranges.epsilon_values(sample, y, self.kernel, count, n_samples, **options)

        return [axis_of("epsilon", self.epsilons, own, EPSILONS, along_best=True)]
