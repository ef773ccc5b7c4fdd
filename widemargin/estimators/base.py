"""Base class of the five kernel SVMs: training, and exposing the answer as scikit-learn does.

    validate -> build signed duals -> train them on one shared Gram -> expose -> warn if the answer is not certified

A subclass adds its labels or targets and its builder from `widemargin.problems`, in `_fit`; data are read in
kernel_estimator.py, everything else is here.

`fit` starts at zero and `resume` at the present answer; both are a `Run`. Its listeners are the progress bar
(`verbose`), the history (`trace`) and scikit-learn's callbacks. All receive the same records from the solvers' `watch`
(monitor/iteration.py); without a request there is no listener.
"""

from __future__ import annotations

import copy
import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.validation import check_is_fitted

from widemargin._sklearn import num_samples
from widemargin.certificate import Certificate
from widemargin.certificate import combine as combine_certificates
from widemargin.estimators.fitted import rebuild_expansion
from widemargin.estimators.kernel_estimator import LimitedFit, NamedKernel, Vector
from widemargin.estimators.parameters import estimator, one_of, option
from widemargin.estimators.training_set import TrainingSet
from widemargin.estimators.whole_fit import whole_fit
from widemargin.kernels import Kernel, Linear
from widemargin.kernels.names import is_precomputed
from widemargin.models.expansion import Expansion, rows_not_finite, warn_not_finite
from widemargin.models.multiclass import Layout
from widemargin.monitor.callbacks import Steps
from widemargin.monitor.history import History
from widemargin.monitor.interrupt import CtrlC, StopSignal
from widemargin.monitor.iteration import Iteration
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import CRITERIA, Stopping
from widemargin.monitor.user_warning import warn_user
from widemargin.problems.dual import SignedDual
from widemargin.problems.optimality import scan_groups, thresholds_of
from widemargin.problems.warm_start import restart
from widemargin.training.checkpoint import Checkpoint, prepare_folder
from widemargin.training.diagnosis import causes, meaning, refuse_function_not_finite
from widemargin.training.fit import Training
from widemargin.training.task import Task, Trained

#: multipliers and thresholds of one problem
Answer = tuple[Vector, Vector]
#: exposes the answers to all problems as fitted attributes of a model
Show = Callable[[Any, Sequence[Answer]], None]


@dataclass
class Run:
    """One call of `fit` or `resume`.

    Attributes
    ----------
    stopping : when to stop
    cancelled : set by Ctrl-C, or by a callback that asks to stop
    steps : reports to scikit-learn's callbacks; None if there are no callbacks
    before : the fitted model from which `resume` continues, else None
    needs_file : whether a checkpoint is the only place to begin: `resume` of a model that is not fitted
    kernel, training : the kernel of the model and what the problems of the fit share, made when the data are read
    """

    stopping: Stopping
    cancelled: StopSignal
    steps: Steps | None = None
    before: Any = None
    needs_file: bool = False
    kernel: Kernel = field(init=False)
    training: Training = field(init=False)


@estimator
class KernelMachine(NamedKernel, LimitedFit):
    """Base of SVC, NuSVC, SVR, NuSVR and OneClassSVM.

    shrinking : bool, default True
        Accepted for compatibility; the solver decides by itself.
    tol : float, default 1e-3
        Tolerance of the stop rule; see `stopping`.
    cache_size : float or None, default None
        Megabytes for rows of the kernel matrix; None sizes it to the free memory.
    verbose : bool, default False
        Show a progress bar.
    max_iter : int, default -1
        Largest number of steps. -1 means no limit, except that a fit which takes far more steps than such problems
        need ends with a warning (`Status.TOO_SLOW`); it can be resumed.
    solver : str or solver, default "auto"
        "auto" is the fast block solver; "platt", "keerthi", "chunking", "qp" and others are those of the literature,
        by name or as an object with options (`widemargin.solvers.reference`). A function of your own is called as
        solve(dual, gram, stopping, start=, function=, watch=) and returns a `widemargin.solvers.Solution`.
    stopping : {"kkt", "gap", "objective"}, default "kkt"
        What `tol` limits: the largest violation of the optimality conditions, the relative duality gap, or the growth
        of the dual objective. Kernels not known to be positive semi-definite are trained by the first in any case.
    time_limit : float or None, default None
        Seconds of solving, the certificate included, after which the best model so far is returned, with a warning.
        Compiling and loading functions is not counted.
    warm_start : bool, default False
        Start from the multipliers of the previous fit when the number of samples is the same.
    trace : bool, default False
        Record the progress of the fit in `history_`.
    checkpoint : path or None, default None
        Folder in which the multipliers are kept every half minute while the fit runs. A fit of the same data and
        parameters goes on from there, after a crash too; one that is done removes its file.

    support_vectors_ : array or CSR matrix of shape (n_SV, n_features)
    status_ : Status
        How the solver ended; `fit_status_` is 0 if it met the tolerance, else 1.
    diagnosis_ : str
        Likely causes where the tolerance was not met, empty otherwise.
    history_ : dict of arrays
        With trace=True: objective, gap, violation and more after every round of the solver, one column each. Gap and
        margin are NaN after rounds on an active set, where they would cost kernel rows.
    """

    shrinking: bool = option(True, "boolean")
    solver: Any = option("auto", str, callable)
    stopping: str = option("kkt", one_of(*CRITERIA))
    warm_start: bool = option(False, "boolean")
    trace: bool = option(False, "boolean")
    checkpoint: str | os.PathLike | None = option(None, str, os.PathLike, None)

    _kept_private: ClassVar[tuple[str, ...]] = ("_gamma",)  # what a model file holds beside public fitted attributes

    # ---- training

    @abstractmethod
    def _fit(self, run: Run, X: Any, y: Any, sample_weight: Any) -> None:
        """Train and expose the answer."""

    def _run(
        self, X: Any, y: Any, sample_weight: Any, before: Any = None, needs_file: bool = False, **budget: Any
    ) -> None:
        """Run `fit` or `resume`, with the arguments of a `Run`; limits in `budget` replace ours unless None."""
        if self.checkpoint is not None:
            prepare_folder(self.checkpoint)
        own = Stopping(self.tol, self.stopping, self.max_iter, self.time_limit)
        stopping = replace(own, **{name: value for name, value in budget.items() if value is not None})
        with CtrlC() as ctrl_c, self._reporting(X, y, sample_weight) as steps:
            self._fit(Run(stopping, ctrl_c.requested, steps, before, needs_file), X, y, sample_weight)
        self._raise_if_interrupted(ctrl_c.presses > 0)
        self._warn_unless_converged()

    @whole_fit
    def resume(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        tol: float | None = None,
        max_iter: int | None = None,
        time_limit: float | None = None,
    ) -> Any:
        """Continue training from the present answer, after Ctrl-C, a limit, or for a smaller tolerance.

        A model does not store its training data, so they must be passed again; the model may have been pickled or saved
        in between. A model that is not fitted continues from its `checkpoint`.

        Parameters
        ----------
        X, y, sample_weight : the data on which the model was fitted
        tol, max_iter, time_limit : number or None, default None
            Stop rule of this call; None takes the model's own. `max_iter` and `time_limit` count from now.

        Returns
        -------
        self
        """
        limits: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "time_limit": time_limit}
        try:
            check_is_fitted(self)
        except NotFittedError:
            if self.checkpoint is None:
                raise
            self._run(X, y, sample_weight, needs_file=True, **limits)
            return self
        self._check_resumed(num_samples(X))
        self._run(X, y, sample_weight, copy.copy(self), **limits)
        return self

    def _check_resumed(self, n_samples: int) -> None:
        """Raise ValueError if `resume` is given another number of samples than `fit` was."""
        if n_samples != self.shape_fit_[0]:
            raise ValueError(
                f"X has {n_samples} samples, but the model was fitted on {self.shape_fit_[0]}: resume needs "
                "the same training data; fit starts anew on others."
            )

    def _start_training(self, run: Run, data: TrainingSet) -> None:
        options = {"cache_size": self.cache_size, "n_jobs": self.n_jobs, "solver": self.solver}
        run.kernel = self._make_kernel(data)
        run.training = Training(run.kernel, data.X, **options, cancelled=run.cancelled)

    def _train(
        self, run: Run, tasks: Sequence[Task], show: Show, classes: Sequence[NDArray] = (), more: Sequence[Task] = ()
    ) -> list[Trained]:
        """Solve all problems of the fit and store their certificates; `show` exposes answers as attributes of a model.

        classes : samples of each class, for tasks about class pairs
        more : further tasks that are not part of the model; their answers follow those of `tasks`
        """
        duals = [task.dual for task in tasks]
        checkpoint = self._checkpoint(run, [*tasks, *more], len(tasks), classes)
        if checkpoint is not None:
            begun = checkpoint.begin([*tasks, *more])
            tasks, more = begun[: len(tasks)], begun[len(tasks) :]
            if run.needs_file and not checkpoint.has_begun:
                raise NotFittedError(
                    f"This {type(self).__name__} is not fitted, and {checkpoint.path} does not exist or is damaged: "
                    "resume needs the checkpoint of a fit with the same data and parameters. Call fit to start anew."
                )
        tasks = [
            replace(task, start=start) if task.start is None and start is not None else task
            for task, start in zip(tasks, self._restart(run.training, duals), strict=True)
        ]
        history = History() if self.trace else None
        starts = [task.dual.start if task.start is None else task.start for task in tasks]
        begin = [(start, np.zeros(max(1, dual.n_groups))) for start, dual in zip(starts, duals)]
        others = [] if history is None else [history.note]
        with self._watching(run.steps, show, begin, partial(answer_of, run.training), others) as watch:
            answers = run.training.train([*tasks, *more], run.stopping, watch, classes, checkpoint)
            trained = answers[: len(tasks)]
            refuse_function_not_finite(run.kernel, run.training.source.X, [answer.certificate for answer in trained])
            show(self, [(answer.solution.beta, answer.solution.thresholds) for answer in trained])
            self._note_certificates(run, [answer.certificate for answer in trained], duals)
        if checkpoint is not None:
            checkpoint.end(answers)
        if history is not None:
            self.history_ = history.table()
        if self.warm_start:
            self._multipliers = [answer.solution.beta for answer in trained]
            self._multipliers_C = getattr(self, "C", 1.0)
        return answers

    def _checkpoint(
        self, run: Run, tasks: Sequence[Task], n_named: int, classes: Sequence[NDArray]
    ) -> Checkpoint | None:
        """Return the file of this fit, if there is to be one."""
        return None if self.checkpoint is None else Checkpoint(self.checkpoint, run.training, tasks, n_named, classes)

    def _note_certificates(self, run: Run, certificates: Sequence[Certificate], duals: Sequence[SignedDual]) -> None:
        """Set the attributes that describe how the fit ended; the answer is exposed already."""
        self._note_status(certificates)
        names = getattr(self, "feature_names_in_", None)
        if self.fit_status_:
            in_time = run.training.values_in_time()
            self.diagnosis_ = causes(self.certificate_, run.training.source, duals, names, in_time)
        seconds, limit = run.training.solver.seconds_certifying, run.stopping.time_limit
        if self.status_ is Status.TIME_LIMIT and limit is not None and seconds > limit:
            self.diagnosis_ += f" The certificate alone took {seconds:.2g} s, longer than time_limit={limit:g}."
            self.diagnosis_ = self.diagnosis_.strip()

    def _note_status(self, certificates: Sequence[Certificate]) -> None:
        """Set the certificates of an answer that is exposed already, and what they say about how it ended."""
        self.certificates_ = certificates
        self.certificate_ = combine_certificates(certificates, len(self.support_))
        self.status_: Status = self.certificate_.status or Status.OPTIMAL
        self.fit_status_ = 0 if self.status_.converged else 1
        self.diagnosis_ = ""

    def _restart(self, training: Training, duals: Sequence[SignedDual]) -> list[Vector | None]:
        """Return feasible starts from the previous fit, or None if there was no fit of the same size."""
        previous = getattr(self, "_multipliers", None) if self.warm_start else None
        if previous is None or len(previous) != len(duals):
            return [None] * len(duals)
        ratio = getattr(self, "C", 1.0) / self._multipliers_C
        scale = ratio if np.isfinite(ratio) and ratio > 0 else 1.0
        return [restart(training.as_solved(dual), beta, scale) for dual, beta in zip(duals, previous, strict=True)]

    def _warn_unless_converged(self) -> None:
        """Warn if the solver ended early: why, how far from the optimum, what that means and what to do."""
        if self.fit_status_ == 0 or self.status_ is Status.STOPPED:
            return
        ended = self.status_.value
        if self.diagnosis_:  # causes found in the data replace the general advice
            ended = ended.split(" Usual causes:")[0]
        parts = [ended, self.diagnosis_, meaning(self.certificate_)]
        if self.status_ in (Status.MAX_ITER, Status.MAX_PASSES, Status.TIME_LIMIT, Status.INTERRUPTED, Status.TOO_SLOW):
            parts.append("resume(X, y) continues from here.")
        warn_user(" ".join(part for part in parts if part), ConvergenceWarning)

    # ---- exposing

    def _expose(self, kernel: Kernel, data: TrainingSet, layout: Layout, intercept: Vector) -> None:
        """Set the attributes of the kernel expansion, with scikit-learn's names, shapes and signs."""
        self.support_ = data.given_places(layout.support)
        self.n_support_ = layout.n_support
        self.dual_coef_ = layout.coefficients
        self.intercept_ = intercept
        if is_precomputed(self.kernel):
            self.support_vectors_ = np.empty((0, 0))
        else:
            self.support_vectors_ = data.rows(layout.support)
            if sp.issparse(self.support_vectors_):
                sparse = sp.csr_matrix if isinstance(self.support_vectors_, sp.spmatrix) else sp.csr_array
                self.dual_coef_ = sparse(layout.coefficients)
        vectors = self.support_ if is_precomputed(self.kernel) else self.support_vectors_
        self._expansion = Expansion(kernel, vectors, layout.coefficients, intercept, layout.class_starts)

    def _rebuild(self) -> None:
        """Build the decision function from attributes that did not come from `fit`."""
        self._expansion = rebuild_expansion(self)

    def _decision_values(self, X: Any) -> Vector:
        """Validate X and evaluate the expansion in float64: shape (n_samples, n_outputs)."""
        X = self._read_to_predict(X)
        values = self._expansion.decision(X, self.n_jobs)
        warn_not_finite(rows_not_finite(values))
        return values

    @property
    def coef_(self) -> Any:
        """Weights of the features for a linear kernel, shape (n_outputs, n_features); sparse after a sparse fit."""
        if not isinstance(self._expansion.kernel if hasattr(self, "_expansion") else None, Linear):
            raise AttributeError("coef_ is only available when using a linear kernel")
        weights = self._expansion.weights()
        if sp.issparse(self.dual_coef_):
            return type(self.dual_coef_)(weights)
        weights = weights.copy()
        weights.flags.writeable = False
        return weights


def answer_of(training: Training, iteration: Iteration) -> Answer | None:
    """Return the current multipliers and thresholds of a problem, or None if the solver does not report them."""
    if iteration.point is None:
        return None
    (beta, Kb), dual = iteration.point(), iteration.dual
    gradient = dual.gradient(beta, Kb)
    table = scan_groups(gradient, beta, dual.lower, dual.upper, dual.epsilon, dual.group_starts, dual.n_groups)
    _, thresholds = training.split_bias(beta, Kb, thresholds_of(table, dual.n_groups))
    return beta.copy(), thresholds
