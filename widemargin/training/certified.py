"""Solve one problem and certify the answer; where the certificate does not hold, continue from that point.

solve -> certify -> holds, or cannot be improved: done
           |
           +-> in memory, and only rounding prevents a proof: continue to a smaller violation on the same rows
           +-> compute K b in float64 where the outcome is in doubt (certificate/prove.py), certify again
           +-> continue from there, once with rows as they are and once with float64 rows

At the end, a problem with a kernel that is not known to be positive semi-definite is tested for convexity
(indefinite.py), whatever curvature its solver met.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from widemargin.certificate import Certificate, certify_function
from widemargin.certificate.certificate import price
from widemargin.certificate.in_memory import certify_rows, takes
from widemargin.certificate.prove import samples_in_doubt, settle
from widemargin.gram import Gram
from widemargin.gram.scores import Scores
from widemargin.gram.source import GramSource
from widemargin.kernels.errors import UNIT, unit_of
from widemargin.linalg.arrays import Vector
from widemargin.monitor import clock
from widemargin.monitor.interrupt import StopSignal, status_of
from widemargin.monitor.iteration import Iteration, Watch
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.monitor.time_limit import EndInTime
from widemargin.problems.dual import SignedDual
from widemargin.solvers import Solution, tuning
from widemargin.training.indefinite import block_of, is_indefinite, sampled
from widemargin.training.task import Task, Trained

# Share of tol that solvers aim at, by the precision of rows; the rest allows for rounding, so that tol can be proven.
MARGINS = {np.dtype(np.float32): 0.8, np.dtype(np.float64): 0.99}
LEAST_AIM = 0.3  # share of tol that solvers aim at where errors are large, ...
AIM_SAFETY = 2.2  # ... and how many errors below tol: one on either side, with a margin
# Limits without max_iter, so that 3,000 samples end within seconds: variables looked at in steps on one working set,
# and steps per variable. LIBSVM allows 1e7 steps.
MOST_STEPS = (15_000_000_000, 300)
MOST_STEPS_BELOW_ROUNDING = (600_000_000, 100)  # the same where rounding of the gradient alone exceeds tol
SINGULAR = 30.0  # units of float32 by which kernel values may err, times how far their errors depend on each other
FEWEST = 1_000  # variables that take about as long to look at as fewer do

SOLVED = (Status.OPTIMAL, Status.STALLED, Status.UNDECIDED, Status.OWN_RULE)  # of problems solved to the end
AHEAD = 2.0  # times the error of K b, at which samples count as in doubt: they will be soon, as the violation falls
SAMPLED = 64  # columns of the kernel matrix on which the price of a certificate is measured


class CertifiedSolver:
    """A solver whose answers are certified, and improved where the certificate does not hold.

    Parameters
    ----------
    source : Grams and float64 values of the fit's samples
    solve : the solver. A true attribute `tracks_error` means that it bounds the error of its K b and accepts
        K b with its error; K b of other solvers is used only if it is recomputed
    cancelled : set by Ctrl-C

    seconds_certifying : of the certificate that took longest
    seconds_per_value : of float64 kernel values, measured where a time limit must leave room for a certificate
    """

    trusts_tracked = False  # whether K b carried with its error on a full matrix is certified before it is summed again

    def __init__(self, source: GramSource, solve: Any, cancelled: StopSignal) -> None:
        self.source, self.solve, self.cancelled = source, solve, cancelled
        self.tracks_error = bool(getattr(solve, "tracks_error", False))
        self.seconds_certifying = 0.0
        self.seconds_per_value: float | None = None

    def train(self, task: Task, gram: Gram, stopping: Stopping, watch: Watch, known: Scores | None = None) -> Trained:
        """Solution and certificate of a task; `known` is K b at its start."""
        dual = task.dual
        bounded = self.tracks_error and stopping.max_iter < 0
        below_rounding = bounded and rounding_of(dual, gram.diag, len(dual)) > stopping.tol
        if bounded:
            stopping = replace(stopping, max_iter=most_steps(len(dual), below_rounding))
        deadline = stopping.deadline()
        if stopping.time_limit is not None:
            watch = EndInTime(stopping, partial(self.price, task, stopping), watch)
        start = {} if known is None else {"function": known if self.tracks_error else known.values}
        solution = self.solve(dual, gram, aiming(stopping, gram), start=task.start, watch=watch, **start)
        if solution.rows_computed != gram.rows_computed:  # rows of a matrix computed beforehand count too
            solution = replace(solution, rows_computed=gram.rows_computed)
        solution, certificate = self.certify(task, gram, solution, stopping, watch)
        for attempt in range(2):
            if certificate.holds or solution.status not in (Status.OPTIMAL, Status.STALLED) or no_kernel(certificate):
                break
            if clock.now() + self.seconds_certifying >= deadline:  # no time for another certificate
                solution = replace(solution, status=Status.TIME_LIMIT)
                break
            if gram.dtype == np.float64:
                if solution.status is Status.STALLED or below_rounding:
                    break
            elif attempt or solution.status is Status.STALLED:
                gram = self.source.gram(task.index, double=True)
                if certificate.dual < 0.0 and not dual.start.any():  # worse than the start: float32 rows led astray
                    solution = replace(solution, beta=dual.start, Kb=np.zeros(len(gram)), error=np.zeros(len(gram)))
            rest = stopping if stopping.time_limit is None else stopping.until(deadline)
            solution = self.continue_from(solution, dual, gram, aiming(rest, gram, certificate), watch)
            solution, certificate = self.certify(task, gram, solution, stopping, watch)
        status = solution.status
        if certificate.holds and not status.on_request:
            status = Status.OPTIMAL  # solvers aim below tol, so the answer may be close enough
        elif status in (Status.OPTIMAL, Status.STALLED):
            is_finite = bool(np.isfinite(gram.diag).all())
            status = unproven(certificate, status) if is_finite else Status.NOT_FINITE
        elif status is Status.MAX_ITER and bounded:
            status = Status.STALLED if below_rounding else Status.TOO_SLOW
        proven = status
        if (certificate.holds or status in SOLVED) and self.is_indefinite(task, gram, solution, stopping.tol):
            proven = Status.INDEFINITE
            status = status if status.on_request else proven
        if not (solution.status is status and certificate.status is proven):
            solution, certificate = replace(solution, status=status), replace(certificate, status=proven)
        return Trained(solution, certificate)

    def is_indefinite(self, task: Task, gram: Gram, solution: Solution, tol: float) -> bool:
        """Whether the kernel is so far from positive semi-definite that the answer need not be the best one."""
        if self.source.kernel.is_psd:
            return False
        own = self.source.members(task.index)
        places = sampled(task.dual.n_samples)
        if gram.store is not None and gram.is_whole and gram.dtype == np.float64:
            K = gram.block(places)
        else:
            K = block_of(self.source.kernel, self.source.exact, places if own is None else own[places])
        return is_indefinite(task.dual, places, K, task.dual.per_sample(solution.beta), tol)

    def continue_from(
        self, before: Solution, dual: SignedDual, gram: Gram, stopping: Stopping, watch: Watch
    ) -> Solution:
        """Continue from an answer and its K b, within the remaining steps; costs are added up."""
        max_iter = -1 if stopping.max_iter < 0 else max(0, stopping.max_iter - before.iterations)
        rest = replace(stopping, max_iter=max_iter)
        known = before.scores if self.tracks_error else before.Kb
        after = self.solve(dual, gram, rest, start=before.beta, function=known, watch=watch)
        return replace(
            after,
            iterations=after.iterations + before.iterations,
            rounds=after.rounds + before.rounds,
            rows_computed=after.rows_computed + before.rows_computed,
            seconds=after.seconds + before.seconds,
        )

    def price(self, task: Task, stopping: Stopping, now: Iteration) -> float:
        """Return the seconds that certifying a point will take: K b in float64 at the samples in doubt."""
        dual, error = task.dual, None if now.error is None else now.error()
        n_doubtful = dual.n_samples
        if error is not None and now.point is not None:
            beta, Kb = now.point()
            n_doubtful = len(samples_in_doubt(dual, beta, Scores(Kb, AHEAD * error), stopping.tol, stopping.criterion))
            if n_doubtful == 0:
                return 0.0
        if self.seconds_per_value is None:
            few, seconds = np.zeros(dual.n_samples), list[float]()
            for count in (1, 1, SAMPLED):  # the first call prepares the samples; the second has the fixed costs only
                few[:count] = 1.0
                began = clock.now()
                self.source.recomputed(few, task.index, None)
                seconds.append(clock.now() - began)
            self.seconds_per_value = max(0.0, seconds[2] - seconds[1]) / (
                max(1, int(np.count_nonzero(few)) - 1) * len(few)
            )
        return self.seconds_per_value * n_doubtful * now.n_support

    def certify(
        self, task: Task, gram: Gram, solution: Solution, stopping: Stopping, watch: Watch
    ) -> tuple[Solution, Certificate]:
        """Return the certificate of a solution, and the solution with the K b and thresholds of the certificate."""
        began = clock.now()
        try:
            return self._certify(task, gram, solution, stopping, watch)
        finally:
            self.seconds_certifying = max(self.seconds_certifying, clock.now() - began)

    def _certify(
        self, task: Task, gram: Gram, solution: Solution, stopping: Stopping, watch: Watch
    ) -> tuple[Solution, Certificate]:
        if solution.status.on_request:
            self.cancelled.request(solution.status)
        dual, tol, is_psd = task.dual, stopping.tol, self.source.kernel.is_psd
        scores, drift = solution.scores if self.tracks_error else Scores.untracked(solution.Kb), np.nan
        if self.trusts_tracked and gram.is_whole and np.isfinite(scores.error).all():
            certificate = self.certificate_of(task, gram, solution, stopping, scores)
            if certificate.holds:
                return with_scores(solution, scores, certificate), certificate
            if gram.dtype != np.float64:
                return self.settled(task, gram, solution, stopping, scores, drift)
        if takes(dual, gram, stopping.criterion):
            certificate, scores = certify_rows(dual, gram, solution, tol, is_psd)
            has_room = AIM_SAFETY * certificate.rounding <= (1 - LEAST_AIM) * tol
            if certificate.is_undecided and self.tracks_error and has_room:
                # A few more steps on stored rows cost less than float64 values.
                aim = aiming(stopping, gram, certificate)
                solution = self.continue_from(
                    replace(solution, Kb=scores.values, error=scores.error), dual, gram, aim, watch
                )
                certificate, scores = certify_rows(dual, gram, solution, tol, is_psd)
            if certificate.holds:
                return with_scores(solution, scores, certificate), certificate
            drift = certificate.drift
        elif gram.store is not None:
            scores = gram.scores(dual.per_sample(solution.beta))
            drift = float(np.abs(scores.values - solution.Kb).max(initial=0.0))
        return self.settled(task, gram, solution, stopping, scores, drift)

    def settled(
        self, task: Task, gram: Gram, solution: Solution, stopping: Stopping, scores: Scores, drift: float
    ) -> tuple[Solution, Certificate]:
        """`certify` with K b in float64 where the outcome is in doubt, unless the fit is interrupted."""
        coefficients, seen = task.dual.per_sample(solution.beta), np.nan
        try:
            scores, seen = settle(
                task.dual, solution.beta, scores, lambda at: self.source.recomputed(coefficients, task.index, at),
                stopping.tol, stopping.criterion,
            )  # fmt: skip
        except KeyboardInterrupt as interrupt:
            self.cancelled.request(status_of(interrupt))
            solution = replace(solution, status=self.cancelled.status)
        certificate = self.certificate_of(task, gram, solution, stopping, scores)
        certificate = replace(certificate, drift=float(np.fmax(drift, seen)))
        return with_scores(solution, scores, certificate), certificate

    def certificate_of(
        self, task: Task, gram: Gram, solution: Solution, stopping: Stopping, scores: Scores
    ) -> Certificate:
        """Return the certificate that K b with its error gives."""
        found = certify_function(
            task.dual, solution.beta, scores, stopping.tol, criterion=stopping.criterion,
            is_psd=self.source.kernel.is_psd, diagonal=float(gram.diag.max(initial=0.0)),
        )  # fmt: skip
        return replace(found, **price(solution))


def with_scores(solution: Solution, scores: Scores, certificate: Certificate) -> Solution:
    """Return the solution with the K b and the thresholds of its certificate."""
    return replace(solution, Kb=scores.values, error=scores.error, thresholds=np.array(certificate.level))


def aiming(stopping: Stopping, gram: Gram, certificate: Certificate | None = None) -> Stopping:
    """Return the stop rule for a solver: a little below tol, and further below after errors prevented a proof."""
    share = MARGINS[gram.dtype]
    if certificate is not None and certificate.criterion == "kkt":
        share = max(LEAST_AIM, min(share, 1.0 - AIM_SAFETY * certificate.rounding / stopping.tol))
    elif certificate is not None:
        share *= 0.5
    return stopping if stopping.criterion == "objective" else replace(stopping, tol=share * stopping.tol)


def no_kernel(certificate: Certificate) -> bool:
    """Whether b'Kb < 0 was seen, rounding counted: the kernel is not positive semi-definite."""
    return not certificate.is_psd and certificate.primal == np.inf and np.isfinite(certificate.dual)


def unproven(certificate: Certificate, status: Status) -> Status:
    """Return the status of an answer that is not proven although the solver finished or could not improve it."""
    if no_kernel(certificate):
        return Status.INDEFINITE
    if certificate.is_undecided:
        return Status.UNDECIDED
    return Status.OWN_RULE if status is Status.OPTIMAL and certificate.criterion == "objective" else Status.STALLED


def is_singular(dual: SignedDual, gram: Gram) -> bool:
    """Whether rounding of float32 rows may exceed the diagonal of a squared loss, which is all that bounds its b.

    A random symmetric error e in n rows moves eigenvalues by about e sqrt(n); errors of values are some units of
    float32 and not independent, hence the factor. Where K + D has negative eigenvalues, steps lower
    the objective without end.
    """
    if gram.dtype == np.float64 or dual.largest_bound < np.inf or len(dual.hard):
        return False
    error = SINGULAR * unit_of(np.float32) * float(gram.diag.max(initial=0.0)) * len(gram) ** 0.5
    return bool(dual.diagonal.min(initial=np.inf) <= error)


def rounding_of(dual: SignedDual, diag: Vector, n_support: int) -> float:
    """Estimate how far rounding alone can move a decision value: terms of size C K_ii, of random sign."""
    return 2.0 * UNIT * dual.largest_cost * float(diag.max(initial=0.0)) * max(1, n_support) ** 0.5


def most_steps(n_variables: int, below_rounding: bool) -> int:
    """Return the limit on steps without max_iter; smaller where rounding alone exceeds the tolerance."""
    looks, each = MOST_STEPS_BELOW_ROUNDING if below_rounding else MOST_STEPS
    return looks // max(FEWEST, min(n_variables, tuning.DEFAULT.usual)) + each * n_variables
