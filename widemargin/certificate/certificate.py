"""The certificate: proven bounds on an answer, with rounding errors counted, computed outside any solver.

violation      bound on the largest KKT violation (problems/dual.py); the threshold given by the model is used, so
               that a wrong bias shows
gap            bound on (primal - dual) / max(|primal|, |dual|) of this answer, the primal at the best scaling found
               (problems/primal.py)
primal, dual   bounds on the optimum, which lies between them
infeasibility  how far beta leaves its box (not at all, if it holds) or its groups' sums, relative to the size of beta

Of a solver's result only beta is used and, where its error is bounded, K b (certificate/prove.py). The proof rests on
three assumptions: IEEE 754 arithmetic with its usual model of rounding, kernels that compute their values by the
formulas analysed in kernels/errors.py, and for primal, dual and gap a positive semi-definite kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from widemargin.certificate.bounds import FEASIBILITY
from widemargin.certificate.tables import Shown
from widemargin.monitor.status import Status

if TYPE_CHECKING:
    from widemargin.solvers.solution import Solution

#: Values that compiled code computes for an answer, in the order in which it writes them (certificate/bounds.py).
FACTS = (
    "primal", "dual", "gap", "objective", "violation", "computed", "infeasibility", "rounding", "drift", "n_support",
    "n_free",
)  # fmt: skip

LARGE_GAP = 0.01  # relative gap from which a certificate of the violation says what such a gap means


@dataclass(frozen=True)
class Certificate(Shown):
    """Bounds on the distance of an answer from the optimum; `print` shows a small table.

    Attributes
    ----------
    primal, dual : float
        Bounds on the optimum, rounding counted: primal >= optimum >= dual. After fits with float32 rows at large C they
        can be some per cent apart; `widemargin.verify` computes everything in float64 and gives closer bounds.
    objective : float
        The dual value as computed: the best estimate of the optimum.
    gap : float
        Bound on (P - D) / max(|P|, |D|), P and D being the primal and the dual value of this answer: at most 1 where D
        is not negative, at most 2 otherwise. It can be far smaller than what `primal` and `dual` give, since errors
        that both values share cancel in it.
    violation, tol : float
        Bound on the largest KKT violation, and the tolerance.
    computed : float
        The violation (or the gap, where that is the criterion) as computed, without the rounding that is counted in its
        bound.
    rounding : float
        Largest bound on the error of a decision value F that went into the certificate.
    infeasibility : float
        How far the multipliers leave their box or their groups' sums, relative to their size.
    drift : float
        Largest difference between the solver's K b and a recomputed one; NaN where nothing had to be recomputed.
    criterion : {"kkt", "gap", "objective"}
        The quantity that `tol` limits.
    is_psd : bool
        Whether the kernel is known to be positive semi-definite. If not, only stationarity is proven: `holds` refers to
        the violation, and primal, dual and gap are bounds only if the kernel is positive semi-definite.
    status : Status or None
        How the solver ended; None for models trained elsewhere.
    n_support, n_free : int
        Nonzero multipliers, and those strictly inside their box; with `parts` a sample counts once for each problem.
    n_distinct : int
        Samples that are support vectors of any of the `parts`; 0 where that is not known or there are no parts.
    iterations, rows_computed : int
        Steps of the solver, and kernel rows it evaluated; rows for some of the samples count by their length.
    seconds : float
    workers, rounds, bytes_sent, bytes_received, waiting
        Of a fit on a cluster: its worker processes, rounds of tasks, bytes to all workers and from them, and the share
        of the whole time, reading included, that was spent waiting for them.
    level : tuple of float
        The thresholds (minus the bias, for models with one group) at which the primal was taken.
    parts : sequence of Certificate
        The certificates of the problems of a many-class model; empty for a single problem. With them, objectives and
        costs are sums, all other numbers are those of the worst problem.

    Notes
    -----
    A certificate of the violation can hold beside a large gap: `tol` limits by how much any single sample misses its
    optimality condition, while the gap adds up what all samples miss, each times C, relative to the objective. At
    C = 1e4, a thousand samples that miss 1e-4 each add up to 1,000. Train with `stopping="gap"` if the objective
    matters, not the conditions.

    Examples
    --------
    >>> from widemargin import SVC
    >>> proven = SVC(kernel="linear").fit([[-1.0], [1.0]], [0, 1]).certificate_
    >>> proven.holds, proven.dual <= 0.5 <= proven.primal  # the optimum is 1/2 |w|^2 with w = 1
    (True, True)
    """

    primal: float
    dual: float
    gap: float
    violation: float
    infeasibility: float
    tol: float
    objective: float = float("nan")
    computed: float = float("nan")
    rounding: float = 0.0
    drift: float = float("nan")
    criterion: str = "kkt"
    is_psd: bool = True
    status: Status | None = None
    n_support: int = 0
    n_free: int = 0
    n_distinct: int = 0
    iterations: int = 0
    rows_computed: int = 0
    seconds: float = float("nan")
    workers: int = 0
    rounds: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    waiting: float = 0.0
    level: tuple[float, ...] = field(default=(), repr=False)
    parts: Sequence[Certificate] = field(default=(), repr=False)

    @property
    def holds(self) -> bool:
        """Whether the answer is proven to meet the tolerance; with `parts`, whether all of them do."""
        if len(self.parts):
            return self.parts.all_hold if isinstance(self.parts, CertificateTable) else all(p.holds for p in self.parts)
        if not self.infeasibility <= FEASIBILITY or self.status is Status.INDEFINITE:
            return False
        if not self.is_psd and not self.primal < np.inf:  # b'Kb < 0
            return False
        return self.bound <= self.tol

    @property
    def bound(self) -> float:
        """Return the quantity that has to be at most tol: the violation, or the gap for "gap" and "objective"."""
        return self.violation if self._limits_violation else self.gap

    @property
    def _limits_violation(self) -> bool:
        return self.criterion == "kkt" or not self.is_psd

    @property
    def is_undecided(self) -> bool:
        """Whether the criterion is met as computed, and only rounding keeps it from being proven."""
        if len(self.parts):
            return not self.holds and any(part.is_undecided for part in self.parts)
        return not self.holds and self.computed <= self.tol < self.bound

    def __str__(self) -> str:
        many = len(self.parts)
        worst, total = ("   (worst problem)", "   (sum)") if many else ("", "")
        condition = "" if self.is_psd else "   (if the kernel is positive semi-definite)"
        limits = ("worst problem; " if many else "") + f"tol {self.tol:.1e}, criterion {self.criterion}"
        violation = ("largest KKT violation", f"{self.violation:.3e}")
        gap = ("relative gap", f"{self.gap:.3e}")
        first, second = (violation, gap) if self._limits_violation else (gap, violation)
        rows = [
            ("certificate", self._verdict()),
            (first[0], f"{first[1]}   ({limits})"),
            (second[0], f"{second[1]}{worst}{condition if second is gap else ''}"),
            ("objective", f"{self.objective:.10g}{total}"),
            ("primal, at most", f"{self.primal:.10g}{total}{condition}"),
            ("dual, at least", f"{self.dual:.10g}{total}{condition}"),
            ("infeasibility", f"{self.infeasibility:.1e}{worst}"),
            ("rounding, at most", f"{self.rounding:.1e}{worst}"),
            ("gradient drift", "not measured" if np.isnan(self.drift) else f"{self.drift:.1e}{worst}"),
            ("support vectors", self._support()),
        ]
        if not np.isnan(self.seconds):  # of a fit, not of `verify`
            rows.append(("steps / kernel rows", f"{self.iterations} / {self.rows_computed}{total}"))
            rows.append(("seconds", f"{self.seconds:.3g}{total}"))
        if self.workers:
            rows.append(("workers / rounds", f"{self.workers} / {self.rounds}"))
            rows.append(("sent / received", f"{1e-6 * self.bytes_sent:.1f} / {1e-6 * self.bytes_received:.1f} MB"))
            rows.append(("waiting", f"{100 * self.waiting:.0f} % of the time"))
        if self.holds and self.gap > LARGE_GAP:
            rows.insert(3, ("a large gap means", "what samples miss, each within tol, times C, adds up"))
            rows.insert(4, ("to make it small", 'stopping="gap", or a smaller C'))
        if self.status is not None and self.status is not Status.OPTIMAL:
            rows.append(("status", self.status.value))
        return "\n".join(f"{name:<22} {value}" for name, value in rows)

    def _verdict(self) -> str:
        """Whether the certificate holds, and for how many problems it does not."""
        many = len(self.parts)
        if self.holds:
            return f"holds for all {many} problems" if many else "holds"
        failed = sum(not part.holds for part in self.parts)
        return f"DOES NOT HOLD for {failed} of {many} problems" if many else "DOES NOT HOLD"

    def _support(self) -> str:
        """The number of support vectors: samples, and the multipliers that they have in all problems."""
        if not len(self.parts):
            return f"{self.n_support} ({self.n_free} free)"
        samples = f"{self.n_distinct} samples, " if self.n_distinct else ""
        return f"{samples}{self.n_support} multipliers ({self.n_free} free)"


def price(solution: Solution) -> dict[str, Any]:
    """Return the status and the costs of a solution as fields of a certificate."""
    return {name: getattr(solution, name) for name in ("status", "iterations", "rows_computed", "seconds")}


def certificate_of(facts: NDArray[np.float64], thresholds: Sequence[float] | NDArray, **about: Any) -> Certificate:
    """Return the certificate with these FACTS."""
    found: dict[str, Any] = dict(zip(FACTS, facts.tolist(), strict=True))
    found["n_support"], found["n_free"] = int(found["n_support"]), int(found["n_free"])
    return Certificate(**found, level=tuple(np.asarray(thresholds).tolist()), **about)


@dataclass(frozen=True, eq=False)
class CertificateTable(Sequence[Certificate]):
    """Certificates of many small problems, stored as arrays and created on access.

    facts : one row of FACTS per problem
    thresholds : one per problem
    iterations : steps of each
    about : further fields of `Certificate` that all of them share
    shared_rows : kernel rows evaluated for all of them together
    """

    facts: NDArray[np.float64]
    thresholds: NDArray[np.float64]
    iterations: NDArray[np.int64]
    about: dict[str, Any]
    shared_rows: int = 0

    def __len__(self) -> int:
        return len(self.facts)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[k] for k in range(*number.indices(len(self)))]
        iterations = int(self.iterations[number])
        return certificate_of(self.facts[number], [self.thresholds[number]], iterations=iterations, **self.about)

    @property
    def all_hold(self) -> bool:
        """Whether all certificates hold."""
        feasible = self.column("infeasibility") <= FEASIBILITY
        met = self.column("violation") <= self.about["tol"]
        is_kernel = self.about["is_psd"] | (self.column("primal") < np.inf)
        return bool((feasible & met & is_kernel).all()) and self.about["status"] is not Status.INDEFINITE

    def column(self, name: str) -> NDArray:
        """Return one field of all certificates."""
        if name in FACTS:
            return self.facts[:, FACTS.index(name)]
        return self.iterations if name == "iterations" else np.full(len(self), self.about[name])


def status_of_all(statuses: Sequence[Status | None]) -> Status | None:
    """Return what ended the whole fit, else the first status of a problem that is not optimal.

    Examples
    --------
    >>> status_of_all([Status.OPTIMAL, Status.UNDECIDED, Status.TIME_LIMIT]).name
    'TIME_LIMIT'
    """
    bad = [status for status in statuses if status is not Status.OPTIMAL]
    ended = (status for status in bad if status is Status.TIME_LIMIT or (status is not None and status.on_request))
    return next(ended, next(iter(bad), Status.OPTIMAL))


def combine(certificates: Sequence[Certificate], n_distinct: int = 0) -> Certificate:
    """Combine the certificates of a many-class model: sums of objectives and costs, the worst of all other fields.

    n_distinct : samples that are support vectors of any problem; 0 if not known
    """
    if len(certificates) == 1:
        return certificates[0]
    if isinstance(certificates, CertificateTable):
        column, status = certificates.column, certificates.about["status"]
    else:

        def column(name: str) -> NDArray:
            return np.array([getattr(certificate, name) for certificate in certificates])

        status = status_of_all([certificate.status for certificate in certificates])
    sums = {name: sum(column(name).tolist()) for name in ("primal", "dual", "objective", "seconds")}
    counts: dict[str, Any] = {
        name: int(column(name).sum()) for name in ("n_support", "n_free", "iterations", "rows_computed")
    }
    worst = {name: max(column(name).tolist()) for name in ("gap", "violation", "infeasibility", "computed", "rounding")}
    counts["rows_computed"] += getattr(certificates, "shared_rows", 0)
    drift = column("drift")
    return replace(
        certificates[0],
        **sums,
        **counts,
        **worst,
        n_distinct=n_distinct,
        drift=max(drift[~np.isnan(drift)].tolist(), default=float("nan")),
        is_psd=bool(column("is_psd").all()),
        status=status,
        level=(),
        parts=certificates if isinstance(certificates, CertificateTable) else tuple(certificates),
    )
