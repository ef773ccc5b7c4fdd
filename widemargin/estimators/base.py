"""What the five machines share: reading parameters and data, training, and exposing the answer as scikit-learn does.

    validate -> build signed duals -> train them on one shared Gram -> expose -> warn if the answer is not certified

A machine adds its labels or targets and its builder from `widemargin.problems`, in `_fit`; everything else is here.
`fit` begins at zero and `resume` at the present answer; both are a `Run` (run.py).
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from widemargin._sklearn import Interval, StrOptions, fit_context, num_samples, safe_indexing
from widemargin.certificate import Certificate
from widemargin.certificate import combine as combine_certificates
from widemargin.estimators.not_finite import warn_not_finite
from widemargin.estimators.notebook import ShowsCertificate
from widemargin.estimators.plain_data import is_plain_matrix, is_plain_sparse
from widemargin.estimators.rebuilding import rebuild_expansion
from widemargin.estimators.run import Run, Show
from widemargin.estimators.training_set import TrainingSet, leave_out_weightless, resolve_gamma
from widemargin.kernels import KERNEL_NAMES, Kernel, Linear, make_kernel
from widemargin.kernels.names import is_precomputed, takes_objects
from widemargin.models.expansion import Expansion, rows_not_finite
from widemargin.monitor.callbacks import CallbackMixin
from widemargin.monitor.interrupt import CtrlC
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import CRITERIA, Stopping
from widemargin.monitor.user_warning import warn_user
from widemargin.problems.dual import SignedDual
from widemargin.problems.warm_start import restart
from widemargin.training.diagnosis import causes, meaning
from widemargin.training.fit import Training
from widemargin.training.task import Task, Trained

WITHOUT_GAMMA = {"linear", "cosine", "precomputed"}  # no pass over X for a number they do not use
FLOATS = (np.float64, np.float32)  # float32 stays as it is: no second copy of the data in double precision

Vector = NDArray[np.float64]


def refuse_sparse_kernel(X: Any) -> None:
    """Say that the matrix itself is the trouble: general validation would speak of data."""
    if sp.issparse(X):
        raise TypeError("Sparse precomputed kernels are not supported: give the dense matrix, X.toarray().")


@dataclass(kw_only=True, eq=False, repr=False)
class KernelMachine(ShowsCertificate, CallbackMixin, BaseEstimator):
    """What SVC, NuSVC, SVR, NuSVR and OneClassSVM share. The fields are the parameters of their constructors."""

    kernel: Any = "rbf"
    degree: int = 3
    gamma: float | str = "scale"
    coef0: float = 0.0
    shrinking: bool = True
    tol: float = 1e-3
    cache_size: float | None = None
    verbose: bool = False
    max_iter: int = -1
    solver: Any = "auto"
    stopping: str = "kkt"
    time_limit: float | None = None
    n_jobs: int | None = None
    warm_start: bool = False
    trace: bool = False

    _parameter_constraints: ClassVar[dict] = {
        "kernel": [StrOptions(set(KERNEL_NAMES)), Kernel, callable],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "shrinking": ["boolean"],
        "cache_size": [Interval(Real, 0, None, closed="neither"), None],
        "verbose": ["verbose"],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "solver": [str, callable],
        "stopping": [StrOptions(set(CRITERIA))],
        "time_limit": [Interval(Real, 0.0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "warm_start": ["boolean"],
        "trace": ["boolean"],
    }

    _kept_private: ClassVar[tuple[str, ...]] = ("_gamma",)  # what a model file holds beside public fitted attributes

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.sparse = not is_precomputed(self.kernel)
        return tags

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """Read off the signature once per class: on small data reading it again is a tenth of a fit."""
        return super()._get_param_names()

    # ---- reading

    def _read(self, X: Any, y: Any, sample_weight: Any, plain_targets: Any = None, **checks: Any) -> TrainingSet:
        """Validate the data of a fit, once, and leave out samples without weight.

        `plain_targets(y, n)` tells whether y can be used as it is; None means there are no targets. `checks` go to
        scikit-learn's validation of all other data.
        """
        precomputed = is_precomputed(self.kernel)
        if precomputed:
            refuse_sparse_kernel(X)
        if takes_objects(self.kernel):
            if plain_targets is not None:
                check_consistent_length(X, y)
                y = np.asarray(y)
        elif is_plain_matrix(X) and (plain_targets is None or plain_targets(y, len(X))):
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
        else:
            targets = {} if plain_targets is None else {"y": y, **checks}
            checked = validate_data(self, X, dtype=FLOATS, accept_sparse=not precomputed and "csr", **targets)
            X, y = checked if targets else (checked, None)
        if precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"Precomputed matrix must be a square matrix: got {X.shape[0]} x {X.shape[1]}. Give fit the kernel "
                "between all pairs of training samples."
            )
        n_samples = num_samples(X)
        self.shape_fit_ = getattr(X, "shape", (n_samples,))
        return leave_out_weightless(X, None if plain_targets is None else y, sample_weight, n_samples, precomputed)

    def _make_kernel(self, data: TrainingSet) -> Kernel:
        """The kernel with its numbers; "scale" and "auto" are resolved on the data."""
        uses_gamma = isinstance(self.kernel, str) and self.kernel not in WITHOUT_GAMMA
        self._gamma = resolve_gamma(self.gamma, data.X, data.weight) if uses_gamma else 0.0
        return make_kernel(self.kernel, gamma=self._gamma, degree=self.degree, coef0=self.coef0)

    # ---- training

    @abstractmethod
    def _fit(self, run: Run, X: Any, y: Any, sample_weight: Any) -> None:
        """Train and expose the answer."""

    def _run(self, X: Any, y: Any, sample_weight: Any, before: Any = None, **budget: Any) -> None:
        """One call of `fit` or, with the machine as it was `before`, of `resume`."""
        with CtrlC() as ctrl_c:
            run = Run(self._stopping(**budget), ctrl_c.requested, self._begin_steps(X, y, sample_weight), before)
            self._fit(run, X, y, sample_weight)
            if run.steps is not None:
                run.steps.finish()
        self._warn_unless_converged()

    @fit_context(prefer_skip_nested_validation=True)
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
        """Go on training from the present answer, after Ctrl-C, a limit, or for a finer tolerance.

        A machine does not keep its training data, so they are given again; it may have been pickled or saved in
        between.

        Parameters
        ----------
        X, y, sample_weight : the data the machine was fitted on
        tol, max_iter, time_limit : number or None, default None
            Stop rule of this call; None takes the machine's own. `max_iter` and `time_limit` count from now.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if num_samples(X) != self.shape_fit_[0]:
            raise ValueError(
                f"X has {num_samples(X)} samples, but the machine was fitted on {self.shape_fit_[0]}: resume needs "
                "the same training data; fit starts anew on others."
            )
        before = copy.copy(self)
        try:
            self._run(X, y, sample_weight, before, tol=tol, max_iter=max_iter, time_limit=time_limit)
        except BaseException:  # a machine that cannot go on stays what it was
            to_tear_down = {name: value for name, value in vars(self).items() if "callback" in name}
            self.__dict__ = {**vars(before), **to_tear_down}
            raise
        return self

    def _stopping(
        self, tol: float | None = None, max_iter: int | None = None, time_limit: float | None = None
    ) -> Stopping:
        """The machine's stop rule, or parts of it as given for one call."""
        return Stopping(
            self.tol if tol is None else tol,
            self.stopping,
            self.max_iter if max_iter is None else max_iter,
            self.time_limit if time_limit is None else time_limit,
        )

    def _start_training(self, run: Run, kernel: Kernel, data: TrainingSet) -> Training:
        options = {"cache_size": self.cache_size, "n_jobs": self.n_jobs, "solver": self.solver}
        return Training(kernel, data.X, **options, cancelled=run.cancelled)

    def _train(
        self,
        run: Run,
        training: Training,
        tasks: Sequence[Task],
        show: Show,
        classes: Sequence[NDArray[np.int64]] = (),
        more: Sequence[Task] = (),
    ) -> list[Trained]:
        """Solve all problems of the fit and keep their certificates; `show` exposes answers on a machine.

        classes : samples of each class, for tasks about class pairs
        more : further tasks, which are no part of the model; their answers follow those of `tasks`
        """
        duals = [task.dual for task in tasks]
        tasks = [
            replace(task, start=start) if task.start is None and start is not None else task
            for task, start in zip(tasks, self._restart(duals), strict=True)
        ]
        answers = run.train(self, training, [*tasks, *more], show, classes)
        trained = answers[: len(tasks)]
        self._note_certificates([answer.certificate for answer in trained], training, duals)
        if self.warm_start:
            self._multipliers = [answer.solution.beta for answer in trained]
            self._multipliers_C = getattr(self, "C", 1.0)
        show(self, [(answer.solution.beta, answer.solution.level) for answer in trained])
        return answers

    def _note_certificates(
        self, certificates: Sequence[Certificate], training: Training, duals: Sequence[SignedDual]
    ) -> None:
        """Set the attributes that say how the fit ended."""
        self.certificates_ = certificates
        self.certificate_ = combine_certificates(certificates)
        self.status_: Status = self.certificate_.status or Status.OPTIMAL
        self.fit_status_ = 0 if self.status_.converged else 1
        names = getattr(self, "feature_names_in_", None)
        self.diagnosis_ = "" if self.fit_status_ == 0 else causes(self.certificate_, training.source, duals, names)

    def _restart(self, duals: Sequence[SignedDual]) -> list[Vector | None]:
        """Feasible starts from the previous fit; None where there is none of the same size."""
        previous = getattr(self, "_multipliers", None) if self.warm_start else None
        if previous is None or len(previous) != len(duals):
            return [None] * len(duals)
        ratio = getattr(self, "C", 1.0) / self._multipliers_C
        scale = ratio if np.isfinite(ratio) and ratio > 0 else 1.0
        return [restart(dual, beta, scale) for dual, beta in zip(duals, previous, strict=True)]

    def _warn_unless_converged(self) -> None:
        """Say in a sentence why the solver ended early, how far it came, what that means and what to do."""
        if self.fit_status_ == 0 or self.status_ is Status.STOPPED:
            return
        ended = self.status_.value
        if self.diagnosis_:  # causes that were found stand in the place of the usual ones
            ended = ended.split(" Usual causes:")[0]
        parts = [ended, self.diagnosis_, meaning(self.certificate_)]
        if self.status_ in (Status.MAX_ITER, Status.TIME_LIMIT, Status.INTERRUPTED, Status.TOO_SLOW):
            parts.append("resume(X, y) goes on from here.")
        warn_user(" ".join(part for part in parts if part), ConvergenceWarning)

    # ---- exposing

    def _expose(
        self,
        kernel: Kernel,
        data: TrainingSet,
        support: NDArray[np.int64],
        coefficients: Vector,
        intercept: Vector,
        class_starts: NDArray | None = None,
    ) -> None:
        """Set the attributes of the kernel expansion, with scikit-learn's names, shapes and signs."""
        self.support_ = data.given_places(support)
        self.dual_coef_ = coefficients
        self.intercept_ = intercept
        if is_precomputed(self.kernel):
            self.support_vectors_ = np.empty((0, 0))
        elif isinstance(data.X, np.ndarray):
            self.support_vectors_ = data.X[support]
        else:
            self.support_vectors_ = safe_indexing(data.X, support)
            if sp.issparse(data.X):
                sparse = sp.csr_matrix if isinstance(data.X, sp.spmatrix) else sp.csr_array
                self.dual_coef_ = sparse(coefficients)
        vectors = self.support_ if is_precomputed(self.kernel) else self.support_vectors_
        self._expansion = Expansion(kernel, vectors, coefficients, intercept, class_starts)

    def _rebuild(self) -> None:
        """Make the function of the machine from attributes that did not come from `fit`."""
        self._expansion = rebuild_expansion(self)

    def _decision_values(self, X: Any) -> Vector:
        """Validate X and evaluate the expansion in float64: shape (n_samples, n_outputs)."""
        X = self._read_to_predict(X)
        values = self._expansion.decision(X, self.n_jobs)
        warn_not_finite(rows_not_finite(values))
        return values

    def _read_to_predict(self, X: Any) -> Any:
        """X as the expansion takes it, or a sentence."""
        if not hasattr(self, "support_"):
            check_is_fitted(self)
        if takes_objects(self.kernel):
            if isinstance(X, (list, tuple)) and isinstance(self.support_vectors_, np.ndarray):
                X = np.asarray(X)  # the function was trained on an array and may ask for X.T or X[:, 0]
            self._check_width(X)
        elif not self._is_plain_to_predict(X):
            if is_precomputed(self.kernel):
                refuse_sparse_kernel(X)
            X = validate_data(self, X, dtype=FLOATS, accept_sparse="csr", reset=False)
        return X

    def _check_width(self, X: Any) -> None:
        """A function of the user's would fail on a table of another width, or return wrong values silently."""
        given: tuple[int, ...] = getattr(X, "shape", ())
        known: tuple[int, ...] = getattr(self.support_vectors_, "shape", ())
        if len(given) == len(known) == 2 and given[1] != known[1]:
            raise ValueError(
                f"X has {given[1]} features, but {type(self).__name__} is expecting {known[1]} features as input: give "
                "the kernel function the same features as in fit."
            )

    def _is_plain_to_predict(self, X: Any) -> bool:
        """Whether X needs no validation: plain data of the right width, and no feature names to compare."""
        plain = is_plain_matrix(X) or (is_plain_sparse(X) and not is_precomputed(self.kernel))
        return plain and X.shape[1] == self.n_features_in_ and "feature_names_in_" not in self.__dict__

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
