"""The ways in which a fit can end, each with a sentence of advice."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """How a solver ended. The value is the sentence shown to the user.

    Examples
    --------
    >>> from widemargin import SVC, Status
    >>> model = SVC(kernel="linear").fit([[-1.0], [1.0]], [0, 1])
    >>> model.status_ is Status.OPTIMAL, model.status_.value
    (True, 'The answer meets the tolerance.')
    """

    OPTIMAL = "The answer meets the tolerance."
    MAX_ITER = (
        "The solver used up max_iter before it met the tolerance: raise max_iter, scale the features, or lower C."
    )
    MAX_PASSES = (
        "The solver used up its max_passes before it met the tolerance: raise them, as in "
        "solver=widemargin.solvers.reference.Platt(max_passes=...), scale the features, lower C, or use solver='auto'."
    )
    TIME_LIMIT = "The time limit ended the solver before it met the tolerance: raise time_limit or tol."
    INTERRUPTED = "The fit was interrupted: this is the best model reached so far."
    STOPPED = "A callback asked to stop: this is the best model reached so far."
    LOST = "The cluster was lost: this is the best model reached so far."
    STALLED = (
        "Rounding errors stop further progress above the tolerance. Usual causes: features of very different or very "
        "large scale (use StandardScaler), a very large C, or a tol finer than the kernel's values allow."
    )
    TOO_SLOW = (
        "The solver took far more steps than such problems need and was stopped: this one is badly conditioned. Usual "
        "causes: features of very different or very large scale (use StandardScaler), or a very large C."
    )
    UNDECIDED = (
        "The answer meets the tolerance as far as double precision can tell, but rounding errors could exceed what is "
        "left of it, so that nothing is proven. Raise tol, lower C, or scale the features (use StandardScaler)."
    )
    UNBOUNDED = (
        "The dual is unbounded: the classes are not separable in feature space (the margin is zero to rounding). "
        "Hard margin (C=inf) needs separable data; use a finite C or loss='squared_hinge'."
    )
    NOT_FINITE = (
        "Kernel values are not finite numbers, so nothing can be learned from them. Usual causes: features so large "
        "that products overflow (use StandardScaler), or a kernel function of your own that returns NaN."
    )
    INDEFINITE = (
        "The kernel is not positive semi-definite on these data, so the problem is not convex and what was found need "
        "not be the best. Use another kernel (rbf is always valid) or other kernel parameters."
    )

    OWN_RULE = (
        "The solver ended by its own rule before the answer met the tolerance: a perceptron at the first pass without "
        "a mistake, stopping='objective' when the objective hardly grows. solver='auto' with stopping='kkt' or 'gap' "
        "goes on to the tolerance."
    )

    def __reduce__(self) -> tuple[type[Status], tuple[str]]:
        """A call that gives this member: skops asks for it, where pickle asks Enum's own __reduce_ex__."""
        return Status, (self.value,)

    @property
    def converged(self) -> bool:
        return self is Status.OPTIMAL

    @property
    def on_request(self) -> bool:
        """Whether Ctrl-C, a callback or the loss of a cluster ended the fit (monitor/interrupt.py)."""
        return self in (Status.INTERRUPTED, Status.STOPPED, Status.LOST)
