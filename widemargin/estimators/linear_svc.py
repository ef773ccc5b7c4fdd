"""Linear classification: the machine of LIBLINEAR, or with an unpenalised intercept that of SVC(kernel="linear")."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from widemargin._sklearn import Interval, StrOptions, fit_context
from widemargin.certificate.linear import PointJudge
from widemargin.certificate.linear_joint import prove_joint
from widemargin.certificate.linear_l1 import prove_l1
from widemargin.estimators.classes import classes_and_numbers
from widemargin.estimators.linear_model import LinearMachine, Vector
from widemargin.estimators.plain_data import are_plain_labels
from widemargin.estimators.training_set import TrainingSet
from widemargin.linalg.rows import DenseRows, SparseRows
from widemargin.monitor.callbacks import Steps
from widemargin.monitor.iteration import of_problem
from widemargin.parallel.tiles import single_threaded_blas
from widemargin.problems.dual import SignedDual
from widemargin.solvers.linear.crammer_singer import solve_crammer_singer
from widemargin.solvers.linear.l1 import solve_l1


def are_class_numbers(y: Any, n_samples: int) -> bool:
    """Whether y are labels without a further look: whole numbers, as integers or floats, or strings."""
    if type(y) is np.ndarray and y.shape == (n_samples,) and y.dtype == np.float64:
        return bool((np.rint(y) == y).all()) and bool(np.isfinite(y).all())
    return are_plain_labels(y, n_samples)


@dataclass(kw_only=True, eq=False, repr=False)
class LinearSVC(ClassifierMixin, LinearMachine):
    """Linear support vector classification: the parameters of scikit-learn's LinearSVC, and some more.

        minimise  1/2 |w|^2 + C sum_i max(0, 1 - y_i (w'x_i + b))^p,     p = 1 for "hinge", 2 for "squared_hinge"

    with a certificate of how close the answer is to the optimum. Dense and sparse data, more samples than features or
    more features than samples: the method is chosen by the data.

    Parameters
    ----------
    penalty : {"l2", "l1"}, default "l2"
        "l1" charges the sum of |w_j| instead of half the squares, which makes many weights zero; only with
        "squared_hinge".
    loss : {"squared_hinge", "hinge"}, default "squared_hinge"
    dual : bool or "auto", default "auto"
        Accepted for compatibility: primal and dual are solved together. Combinations that scikit-learn refuses are
        refused here too.
    tol : float, default 1e-4
        Largest relative duality gap, (primal - dual) / primal, proven with rounding errors counted. (scikit-learn's
        limits a projected gradient.)
    C : float, default 1.0
        Weight of the errors.
    multi_class : {"ovr", "crammer_singer"}, default "ovr"
        One machine for each class against the rest, or one joint problem, min 1/2 sum_k |w_k|^2 + C sum_i
        max_k(1 - delta_k,y_i + (w_k - w_y_i)'x_i); `loss` and `penalty` are then ignored.
    fit_intercept : bool, default True
    intercept_scaling : float, default 1.0
        Value of the constant column whose weight carries a penalised intercept; larger penalises it less.
    class_weight : dict, "balanced" or None, default None
        Factor on C of each class. "balanced" is n_samples / (n_classes * count of the class), with weights.
    verbose : bool or int, default 0
        Show a progress bar.
    random_state : int, RandomState instance or None, default None
        Order in which coordinate descent visits the samples; None always takes the same.
    max_iter : int, default 1000
        Largest number of Newton steps or passes over the data.
    penalize_intercept : bool, default True
        False leaves the intercept out of |w|^2: then loss="hinge" gives exactly the machine of SVC(kernel="linear"),
        and the answer does not change when a constant is added to a feature.
    time_limit : float or None, default None
        Seconds after which the best machine so far is returned, with a warning.
    n_jobs : int or None, default None
        Threads for several classes; None means all cores.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) for two classes, else (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,); 0.0 without intercept
    classes_, class_weight_ : arrays of shape (n_classes,)
    n_iter_ : int
        Steps of the problem that took most.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    certificate_ : Certificate
        Bounds on the distance from the optimum; `certificates_` has one per machine.
    status_ : Status
        How the solver ended; `fit_status_` is 0 if the tolerance is proven to be met, else 1.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import LinearSVC
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> machine = LinearSVC(loss="hinge", penalize_intercept=False).fit(X, ["low", "low", "high", "high"])
    >>> machine.predict([[-0.8, -1.0]]).tolist()
    ['low']
    >>> machine.certificate_.gap < 1e-4
    True
    """

    penalty: str = field(default="l2", kw_only=False)
    loss: str = field(default="squared_hinge", kw_only=False)
    multi_class: str = "ovr"
    class_weight: dict | str | None = None

    _parameter_constraints: ClassVar[dict] = {
        **LinearMachine._parameter_constraints,
        "penalty": [StrOptions({"l1", "l2"})],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "multi_class": [StrOptions({"ovr", "crammer_singer"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "C": [Interval(Real, 0.0, None, closed="neither")],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVC:
        """Train on labelled samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels, numbers or strings.
        sample_weight : array-like of shape (n_samples,), default None
            Multiplies C of each sample: weight 2 equals the sample given twice, weight 0 the sample left out.

        Returns
        -------
        self
        """
        self._check_combination()
        steps = self._begin_steps(X, y, sample_weight)
        data = self._read(X, y, sample_weight, are_class_numbers)
        labels, bound = self._read_labels(data)
        rows = self._rows(data.X)
        if self.multi_class == "crammer_singer":
            weights = self._fit_crammer_singer(rows, labels, bound, steps)
        elif self.penalty == "l1":
            weights = self._fit_l1(rows, labels, bound, steps)
        else:
            weights = self._solve(rows, [self._build(sign, bound) for sign in self._signs(labels)], steps)
        self._expose(weights, rows)
        if steps is not None:
            steps.finish()
        self._warn_unless_converged()
        return self

    def _expose(self, weights: Vector, rows: DenseRows | SparseRows) -> None:
        self.coef_ = np.ascontiguousarray(weights[:, :-1])
        self.intercept_ = self._intercepts(weights, rows)

    def _check_combination(self) -> None:
        """Refuse what LIBLINEAR has no solver for, as scikit-learn does, and what has no meaning."""
        if self.multi_class == "crammer_singer":
            if self.fit_intercept and not self.penalize_intercept:
                raise ValueError(
                    "multi_class='crammer_singer' is solved with a penalised intercept only: use "
                    "penalize_intercept=True with a larger intercept_scaling, or multi_class='ovr'."
                )
            return
        impossible = self.penalty == "l1" and self.loss == "hinge"
        if impossible or (self.penalty == "l1" and self.dual is True) or (self.loss == "hinge" and self.dual is False):
            raise ValueError(
                f"Unsupported set of arguments: penalty={self.penalty!r}, loss={self.loss!r}, dual={self.dual!r}. "
                "penalty='l1' goes with loss='squared_hinge' and dual=False, loss='hinge' with penalty='l2' and "
                "dual=True; dual='auto' leaves the choice to the machine."
            )
        if self.penalty == "l1" and self.fit_intercept and not self.penalize_intercept:
            raise ValueError(
                "penalty='l1' is solved with a penalised intercept only: use penalize_intercept=True with a larger "
                "intercept_scaling, or penalty='l2'."
            )

    def _read_labels(self, data: TrainingSet) -> tuple[NDArray[np.int64], Vector]:
        """Class numbers of the samples, and C of each sample with sample and class weights multiplied in."""
        y = data.y
        if not are_class_numbers(y, len(data)):
            y = column_or_1d(y, warn=True)
            check_classification_targets(y)
        self.classes_, labels = classes_and_numbers(y)
        if len(self.classes_) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(self.classes_)} class"
                f"{' among the samples of positive weight' if data.kept is not None else ''}. A classifier needs "
                "samples of at least two; OneClassSVM describes a single one."
            )
        if self.class_weight is None:
            self.class_weight_ = np.ones(len(self.classes_))
        elif self.class_weight == "balanced":  # with weights counted as repetitions
            mass = np.bincount(labels, weights=data.weight)
            self.class_weight_ = mass.sum() / (len(mass) * mass)
        else:
            self.class_weight_ = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        bound = self.C * (data.weights() * self.class_weight_[labels])
        if not bound.min() > 0.0:
            raise ValueError("class_weight must give every class a positive weight: leave the class out instead.")
        return labels, bound

    def _signs(self, labels: NDArray) -> list[Vector]:
        """+1 and -1 of each two-class problem: the second class, or each class against the rest."""
        positive = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        return [np.where(labels == k, 1.0, -1.0) for k in positive]

    def _build(self, sign: Vector, bound: Vector) -> SignedDual:
        """The signed dual of one two-class problem; LIBLINEAR charges C xi^2, not half of it."""
        squared = self.loss == "squared_hinge"
        end = sign * np.inf if squared else sign * bound
        return SignedDual(
            linear_term=-sign,
            lower=np.minimum(end, 0.0),
            upper=np.maximum(end, 0.0),
            diagonal=0.5 / bound if squared else None,  # type: ignore[arg-type]
            n_groups=self._n_groups(),
        )

    def _fit_l1(self, rows: Any, labels: NDArray, bound: Vector, steps: Steps | None) -> Vector:
        """Weights under the l1 penalty, one row per two-class problem."""
        signs, seed = self._signs(labels), self._seed()
        answers = []
        with self._watching(rows, steps, np.zeros((len(signs), rows.d + 1))) as watch, single_threaded_blas():
            budget = self._budget(None)
            for number, sign in enumerate(signs):
                budget.watch = of_problem(watch, number, len(signs))
                began = time.perf_counter()
                judge = PointJudge(partial(prove_l1, rows, sign, bound), self.tol)
                answer = solve_l1(rows, sign, bound, budget, judge, seed)
                answers.append((answer.point[0], judge.certificate(answer, time.perf_counter() - began)))
        self._take_certificates([certificate for _, certificate in answers])
        return np.array([weights for weights, _ in answers])

    def _fit_crammer_singer(self, rows: Any, labels: NDArray, bound: Vector, steps: Steps | None) -> Vector:
        """Weights of the joint machine; for two classes their difference, which says the same."""
        K = len(self.classes_)

        def stack(found: Sequence[Vector]) -> Vector:
            W = found[0]
            return (W[:, 1] - W[:, 0])[None] if K == 2 else W.T

        with self._watching(rows, steps, np.zeros((1, rows.d + 1, K)), stack) as watch:
            began = time.perf_counter()
            judge = PointJudge(partial(prove_joint, rows.as_sparse(), labels, bound), self.tol)
            answer = solve_crammer_singer(rows, labels, K, bound, self._budget(watch), judge, self._seed())
        self._take_certificates([judge.certificate(answer, time.perf_counter() - began)])
        return stack([answer.point[0]])

    # ---- prediction

    def decision_function(self, X: Any) -> Vector:
        """Distance from the boundary in units of the margin.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        values : array of shape (n_samples,) for two classes, where positive means classes_[1]; else
            (n_samples, n_classes)
        """
        values = self._values(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Any) -> NDArray:
        """Class of each sample in X, shape (n_samples,)."""
        values = self.decision_function(X)
        number = (values > 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)
        return self.classes_.take(number)

    def sparsify(self) -> LinearSVC:
        """Make coef_ a sparse matrix, worth it where most weights are zero (penalty="l1")."""
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> LinearSVC:
        """Make coef_ a dense array again."""
        check_is_fitted(self)
        if sp.issparse(self.coef_):
            self.coef_ = self.coef_.toarray()  # type: ignore[attr-defined]
        return self
