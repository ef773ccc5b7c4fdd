"""Base class of LinearSVC and LinearSVR: reading data, solving problems, exposing weights and certificates."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from widemargin.certificate import Certificate, combine
from widemargin.certificate.linear import prove_linear
from widemargin.certificate.linear_judge import Judge
from widemargin.costs import COSTS, threads_for
from widemargin.estimators.parameters import POSITIVE, estimator, one_of, option, whole
from widemargin.estimators.plain_data import ReadsData
from widemargin.estimators.training_set import TrainingSet, leave_out_weightless
from widemargin.estimators.whole_fit import whole_fit
from widemargin.linalg.arrays import Vector
from widemargin.linalg.columns import occurring_columns
from widemargin.linalg.design import Design, design_of
from widemargin.monitor import clock
from widemargin.monitor.callbacks import Steps
from widemargin.monitor.interrupt import CtrlC
from widemargin.monitor.iteration import of_problem
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.monitor.user_warning import warn_user
from widemargin.parallel.tiles import resolve_n_jobs, run_tiles, single_threaded_blas
from widemargin.problems.dual import SignedDual
from widemargin.problems.linear import LinearAnswer, LinearRun, linear_problem
from widemargin.solvers.linear.solve import SMALL_PROBLEM, solve_from_zero, solve_linear

LIMITS = (Status.MAX_ITER, Status.TIME_LIMIT, Status.INTERRUPTED)
GOES_ON = " resume(X, y) continues from here."


class LinearTask(NamedTuple):
    """One problem of a fit: its solver, the proof of an answer, and what is tried if the solver stalls."""

    solve: Callable[[LinearRun], LinearAnswer]
    prove: Callable[[LinearAnswer], Certificate]
    retry: Callable[[LinearRun, int], LinearAnswer] | None = None


class Present(NamedTuple):
    """Where `resume` starts: the answer of a fitted model, and its certificate."""

    answer: LinearAnswer
    certificate: Certificate


@estimator
class LinearMachine(ReadsData):
    """Base of LinearSVC and LinearSVR.

    tol : float, default 1e-4
        Largest relative duality gap, (primal - dual) / primal, proven with rounding errors counted. (In scikit-learn,
        `tol` limits a projected gradient.)
    C : float, default 1.0
        Weight of the errors.
    fit_intercept : bool, default True
    intercept_scaling : float, default 1.0
        Value of the constant column whose weight is a penalised intercept; a larger value penalises it less.
    verbose : bool or int, default 0
        Show a progress bar.
    random_state : int, RandomState instance or None, default None
        Order in which coordinate descent visits the samples; None always uses the same order (scikit-learn: a new one).
    max_iter : int, default 1000
        Largest number of Newton steps or passes over the data.
    time_limit : float or None, default None
        Seconds of solving, the certificate included, after which the best model so far is returned, with a warning.
        Compiling and loading functions is not counted.
    on_interrupt : {"auto", "keep", "raise"}, default "auto"
        What Ctrl-C does once the model so far is certified: "keep" warns and returns it; "raise" raises
        KeyboardInterrupt, and the estimator is fitted nevertheless; "auto" keeps at a prompt or in a notebook and
        raises in a script. Clones, as in searches and cross-validation, and a second Ctrl-C always raise.

    n_features_in_, feature_names_in_
        As in scikit-learn.
    status_ : Status
        How the solver ended; `fit_status_` is 0 if the tolerance is proven to be met, else 1.
    """

    tol: float = option(1e-4, POSITIVE)
    C: float = option(1.0, POSITIVE)
    fit_intercept: bool = option(True, "boolean")
    intercept_scaling: float = option(1.0, POSITIVE)
    dual: bool | str = option("auto", "boolean", one_of("auto"))
    verbose: int = option(0, "verbose")
    random_state: Any = option(None, "random_state")
    max_iter: int = option(1000, whole(0))
    penalize_intercept: bool = option(True, "boolean")
    time_limit: float | None = option(None, POSITIVE, None)
    n_jobs: int | None = option(None, Integral, None)
    on_interrupt: str = option("auto", one_of("auto", "keep", "raise"))

    _kept_private: ClassVar = ("_multipliers",)

    # ---- training

    def _read(self, X: Any, y: Any, sample_weight: Any, plain_targets: Any, **checks: Any) -> TrainingSet:
        """Validate the data of a fit, once, and leave out samples without weight."""
        X, y = self._validated(X, y, plain_targets, **checks)
        return leave_out_weightless(X, y, sample_weight, X.shape[0], False)

    def _rows(self, X: Any) -> Design:
        """Return the samples with a constant column for the intercept."""
        column = self.intercept_scaling if self.penalize_intercept else 1.0
        X, columns = occurring_columns(X)
        rows = design_of(X, float(column) if self.fit_intercept else 0.0)
        rows.columns = columns
        return rows

    def _seed(self) -> int:
        """Return the seed of the order of visits; None always gives the same order, so that fits are reproducible."""
        if self.random_state is None:
            return 0
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _expose(self, weights: Vector, rows: Design) -> None:
        """Set the attributes that `predict` uses, from one row of weights per model, the constant column's last."""
        self.coef_: Any = np.ascontiguousarray(weights[:, :-1])
        if rows.columns is not None:
            self.coef_ = np.zeros((len(weights), self.n_features_in_))  # pages that are never written take no memory
            self.coef_[:, rows.columns] = weights[:, : len(rows.columns)]
        self.intercept_ = rows.column * weights[:, -1] if self.fit_intercept else 0.0  # as in scikit-learn

    @abstractmethod
    def _tasks(self, X: Any, y: Any, sample_weight: Any, tol: float) -> tuple[Design, list[LinearTask]]:
        """Read the data and return the rows and the problems of a fit."""

    def _run(self, X: Any, y: Any, sample_weight: Any, before: Any = None, **budget: Any) -> None:
        """Run `fit` or, given the fitted model `before`, `resume`; limits in `budget` replace ours unless None."""
        own = Stopping(float(self.tol), "gap", int(self.max_iter), self.time_limit)
        stopping = replace(own, **{name: value for name, value in budget.items() if value is not None})
        with self._reporting(X, y, sample_weight) as steps:
            rows, tasks = self._tasks(X, y, sample_weight, stopping.tol)
            starts = [None] * len(tasks) if before is None else before._present(self, rows)
            self._train(rows, tasks, steps, stopping, starts, 0 if before is None else before.n_iter_)

    @whole_fit
    def resume(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        tol: float | None = None,
        max_iter: int | None = None,
        time_limit: float | None = None,
    ) -> Any:
        """Continue training from the present answer, after a limit or for a smaller tolerance.

        A model does not store its training data, so they must be passed again; the model may have been pickled or saved
        in between. The answer never gets worse: what a limit leaves further from the optimum is discarded. Multipliers
        are kept only after fits that ended early; others continue from their weights, a joint problem
        (multi_class="crammer_singer") from zero.

        Parameters
        ----------
        X, y, sample_weight : the data on which the model was fitted
        tol, max_iter, time_limit : number or None, default None
            Stop rule of this call; None takes the model's own. `max_iter` and `time_limit` count from now.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self._run(X, y, sample_weight, copy.copy(self), tol=tol, max_iter=max_iter, time_limit=time_limit)
        return self

    def _present(self, now: Any, rows: Design) -> list[Present]:
        """Return the answers of this fitted model to its problems; raise ValueError if `now` reads other data."""
        multipliers = getattr(self, "_multipliers", None)
        n_samples = rows.n if multipliers is None else multipliers[0].shape[0]
        same_classes = np.array_equal(getattr(self, "classes_", ()), getattr(now, "classes_", ()))
        if now.n_features_in_ != self.n_features_in_ or rows.n != n_samples or not same_classes:
            raise ValueError(
                f"resume needs the data of the fit, {n_samples} samples of positive weight with {self.n_features_in_} "
                f"features and the same classes; got {rows.n} samples with {now.n_features_in_} features: use fit for "
                "other data."
            )
        weights = self._weights(rows)
        multipliers = [np.empty(0)] * len(weights) if multipliers is None else multipliers
        answers = [LinearAnswer(w, beta) for w, beta in zip(weights, multipliers, strict=True)]
        return [Present(*pair) for pair in zip(answers, self.certificates_, strict=True)]

    def _weights(self, rows: Design) -> Any:
        """Return one row of weights per model, the constant column's last: what `_expose` was given."""
        coef = self.coef_ if sp.issparse(self.coef_) else np.atleast_2d(self.coef_)
        if rows.columns is not None:
            coef = coef[:, rows.columns] if len(rows.columns) else coef[:, :1]
        coef = coef.toarray() if sp.issparse(coef) else coef  # type: ignore[union-attr]
        last = np.broadcast_to(self.intercept_ / rows.column if self.fit_intercept else 0.0, len(coef))
        return np.column_stack([coef, last])

    def _task(self, rows: Design, dual: SignedDual, tol: float) -> LinearTask:
        """Return the task of one signed dual; with an unpenalised intercept the multipliers sum to zero."""
        problem = linear_problem(rows, replace(dual, n_groups=int(self.fit_intercept and not self.penalize_intercept)))
        return LinearTask(
            partial(solve_linear, problem, to_rounding=True),
            partial(prove_linear, problem, tol),
            None if problem.squared else partial(solve_from_zero, problem),
        )

    def _train(
        self,
        rows: Design,
        tasks: Sequence[LinearTask],
        steps: Steps | None,
        stopping: Stopping,
        starts: Sequence[Present | None],
        n_before: int,
    ) -> None:
        """Solve and certify every task and set the fitted attributes; warn if the tolerance is not proven.

        n_before : iterations made before `resume`
        """
        weights = [np.zeros(rows.d + 1)] * len(tasks)
        certificates: list[Any] = [None] * len(tasks)
        multipliers: list[Any] = [None] * len(tasks)

        def expose(machine: LinearMachine, found: Sequence[Vector]) -> None:
            machine._expose(np.array(found), rows)

        seed, start = self._seed(), clock.now()
        limits = nullcontext() if rows.entries <= SMALL_PROBLEM else single_threaded_blas()
        with CtrlC() as ctrl_c, self._watching(steps, expose, weights, others=[ctrl_c.listener]) as watch, limits:

            def solve(number: int) -> None:
                began, task = clock.now(), tasks[number]
                judge, at = Judge(task.prove, stopping.tol), starts[number]
                listener = of_problem(watch, number, len(tasks))
                run = LinearRun(stopping, listener, judge, seed, None if at is None else at.answer, start)
                answer = task.solve(run)
                certificate = judge.certificate(answer, clock.now() - began)
                if task.retry is not None and certificate.status is Status.STALLED:
                    again = task.retry(run, answer.iterations)
                    other = judge.certificate(again, clock.now() - began)
                    if other.gap < certificate.gap:
                        answer, certificate = again, other
                if at is not None and not certificate.holds and at.certificate.gap < certificate.gap:
                    status = Status.OPTIMAL if at.certificate.gap <= stopping.tol else certificate.status
                    answer, certificate = at.answer, replace(at.certificate, tol=stopping.tol, status=status)
                weights[number], certificates[number] = answer.weights, certificate
                multipliers[number] = answer.beta

            one_pass = COSTS.linear_entry * rows.entries * len(tasks)
            run_tiles(solve, len(tasks), threads_for(one_pass, resolve_n_jobs(self.n_jobs)))
            self.certificates_: list[Certificate] = certificates
            known = all(beta.size for beta in multipliers)
            self.certificate_ = combine(certificates, int(np.any(multipliers, axis=0).sum()) if known else 0)
            self.status_: Status = self.certificate_.status or Status.OPTIMAL
        self.fit_status_ = 0 if self.status_.converged and self.certificate_.holds else 1
        self.__dict__.pop("_multipliers", None)
        if self.fit_status_ and known:
            self._multipliers = multipliers  # from which resume continues
        self.n_iter_ = n_before + max(certificate.iterations for certificate in certificates)
        expose(self, weights)
        self._raise_if_interrupted(ctrl_c.presses > 0)
        if self.fit_status_ and self.status_ is not Status.STOPPED:
            from widemargin.training.diagnosis import unequal_scales  # needs kernels, which linear models do without

            cause = unequal_scales(rows.X, getattr(self, "feature_names_in_", None))
            warn_user(
                f"{' '.join(filter(None, (self.status_.value, cause)))} "
                f"Reached: relative duality gap {self.certificate_.gap:.3g} "
                f"(tol={stopping.tol:g}): no model can have an objective lower than this one's by more than that "
                f"share; see certificate_.{GOES_ON if self.status_ in LIMITS else ''}",
                ConvergenceWarning,
            )

    def _rebuild(self) -> None:
        """Check attributes that did not come from `fit`."""
        n_outputs = len(self.classes_) if hasattr(self, "classes_") else 1
        shape = (1 if n_outputs == 2 else n_outputs, self.n_features_in_)
        if np.shape(self.coef_) not in (shape, shape[1:] if shape[0] == 1 else shape):
            raise ValueError(f"coef_ of shape {np.shape(self.coef_)} is not that of {shape}")
        if np.shape(self.intercept_) not in ((), shape[:1]):
            raise ValueError(f"intercept_ must be {shape[0]} numbers, or one")

    # ---- prediction

    def _values(self, X: Any) -> Any:
        """X coef_' + intercept_, with coef_ dense or sparse."""
        if not hasattr(self, "coef_"):
            check_is_fitted(self)
        X = self._validated_to_predict(X)
        X, columns = occurring_columns(X)
        coef = self.coef_
        if columns is not None:
            coef = coef[..., columns] if len(columns) else coef[..., :1]
        product = X @ coef.T
        if sp.issparse(product):
            product = product.toarray()
        return np.asarray(product) + self.intercept_
