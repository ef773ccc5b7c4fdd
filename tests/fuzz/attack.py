"""One random machine on random data, trained, and its certificate compared with the truth.

Everything follows from one integer: `draw(seed)` makes the case, `attack(seed)` trains it and judges. A quarter of the
cases is ordinary; every tenth seed has more than 2,048 samples, where kernel rows are float32; some cases go through
`Training` directly, which can keep float32 rows at any size.
"""

from __future__ import annotations

import inspect
import traceback
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import widemargin
from tests.fuzz import generators as generate
from tests.fuzz.kernel_sums import LONG, KernelFormula
from tests.fuzz.linear_oracle import linear_problems_of
from tests.fuzz.models import FIXED_BIAS, formula_of, problems_of
from tests.fuzz.oracles import Problem
from tests.fuzz.verdicts import Verdict, judge, judge_linear
from widemargin import problems as duals
from widemargin.gram.source import ClassPair
from widemargin.kernels import Gaussian, make_kernel
from widemargin.kernels.algebra import Scaled
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.training.fit import Training
from widemargin.training.task import Task

IN_MEMORY = 2048  # samples up to which estimators hold the whole matrix in float64
LARGE_EVERY = 10  # seeds
ORDINARY_SHARE = 0.25
SECONDS = {False: 0.4, True: 2.0}  # time limit of a fit, by whether it is large
REFERENCE = ("platt", "keerthi", "chunking", "osuna", "simplified", "gradient", *FIXED_BIAS)
MACHINES = ("SVC", "SVC", "SVC", "SVR", "SVR", "NuSVC", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR")
DUALS = (
    "hinge", "hinge", "pairs", "squared_hinge", "epsilon_insensitive", "nu_classification", "nu_regression",
    "one_class",
)  # fmt: skip
KERNELS = {
    "rbf": 0.5, "linear": 0.12, "poly": 0.07, "laplacian": 0.07, "sigmoid": 0.04, "precomputed": 0.04, "callable": 0.03,
    "chi2": 0.05, "cosine": 0.04, "scaled": 0.04,
}  # fmt: skip
TRAINING_PARAMETERS = (
    "C", "tol", "kernel", "gamma", "degree", "coef0", "nu", "epsilon", "n_jobs", "stopping", "time_limit", "max_iter",
    "cache_size",
)  # fmt: skip
REFUSALS = (ValueError, TypeError)  # a sentence about the input is an answer, too


def callable_gaussian(A: NDArray, B: NDArray) -> NDArray:
    """A user's kernel: each value is computed in the same way whatever the block."""
    return np.exp(-0.5 * np.square(np.asarray(A)[:, None, :] - np.asarray(B)[None, :, :]).sum(axis=2))


@dataclass
class Case:
    """A machine, its parameters and its data. `how`: "fit", "warm", "resume", or "training" for `Training` directly."""

    seed: int
    machine: str
    how: str
    ordinary: bool
    shape: str
    X: Any
    y: Any
    weight: Any
    parameters: dict[str, Any]

    def __str__(self) -> str:
        shown = {k: getattr(v, "__name__", v) for k, v in self.parameters.items()}
        weighted = "" if self.weight is None else ", weighted"
        return f"seed {self.seed}: {self.machine} ({self.how}) on {self.shape} {self.X.shape}{weighted}, {shown}"


@dataclass
class Outcome:
    """What came of a case."""

    case: Case
    verdicts: list[Verdict] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)  # of each certificate
    holds: bool = False
    silent: bool = False
    disagrees: str = ""
    refusal: str = ""
    crash: str = ""
    status: str = ""

    @property
    def findings(self) -> list[str]:
        """Sentences on everything that must not happen."""
        found = [f"FALSE: {text}" for verdict in self.verdicts for text in verdict.false]
        found += [f"WRONG BOUND: {text}" for verdict in self.verdicts for text in verdict.wrong]
        found += [f"CRASH: {self.crash}"] if self.crash else []
        found += ["SILENT: does not hold, and no warning was given"] if self.silent else []
        return found + ([f"VERIFY: {self.disagrees}"] if self.disagrees else [])


# ----- drawing
def draw(seed: int) -> Case:
    """The case of a seed."""
    rng = np.random.default_rng(seed)
    large, ordinary = seed % LARGE_EVERY == LARGE_EVERY - 1, bool(rng.random() < ORDINARY_SHARE)
    n = int(2049 * (20_000 / 2049) ** (rng.random() ** 2)) if large else int(2 * 200.0 ** rng.random())
    n = max(n, 8) if ordinary else n
    sample = generate.points(rng, n, ordinary)
    how = str(rng.choice(["fit", "training", "warm", "resume"], p=[0.6, 0.28, 0.06, 0.06]))
    machine = str(rng.choice(DUALS if how == "training" else MACHINES))
    if "Linear" in machine:
        how = "fit"
    names = list(KERNELS)
    kernel = str(rng.choice(names, p=list(KERNELS.values())))
    if (large and kernel in ("precomputed", "callable", "sigmoid")) or (how == "training" and kernel == "callable"):
        kernel = "rbf"
    if kernel == "callable" and (n > 150 or sparse.issparse(sample.X) or sample.X.shape[1] > 8):
        kernel = "laplacian"
    tol = float(rng.choice([1e-2, 1e-3, 1e-4, 1e-5, 1e-6], p=[0.1, 0.5, 0.2, 0.1, 0.1]))
    if ordinary:
        C = generate.power(rng, -1.0, 2.0)
        tol = max(tol, 1e-4)
    else:
        C = generate.power(rng, 0.0, 5.0) if rng.random() < 0.6 else generate.power(rng, -6.0, 8.0)
    criterion = str(rng.choice(["kkt", "gap", "objective"], p=[0.7, 0.2, 0.1]))
    if large and sample.shape.startswith("far") and rng.random() < 0.7:  # where float32 rows are worst
        C, tol, kernel, criterion = generate.power(rng, 2.0, 5.0), 1e-3, "rbf", "kkt"
    if sample.shape == "late_crowds":
        C, tol, kernel, criterion = generate.power(rng, 3.0, 5.0), 1e-3, "rbf", "kkt"
        machine = "epsilon_insensitive" if how == "training" else "SVR"
    if sample.shape == "bits" and rng.random() < 0.7:
        kernel = "linear"
    weight = generate.weights(rng, n) if not ordinary and rng.random() < 0.2 else None
    parameters: dict[str, Any] = {"C": C, "tol": tol, "kernel": kernel, "n_jobs": int(rng.choice([1, 1, 1, 2]))}
    parameters |= _kernel_parameters(rng, kernel, sample)
    parameters |= {"nu": float(rng.uniform(0.02, 0.6)), "epsilon": float(rng.choice([0.0, 0.1, 1e-3]))}
    if sample.shape == "late_crowds":
        parameters["epsilon"] = generate.TUBE
    parameters |= {"stopping": criterion, "time_limit": SECONDS[large]}
    _draw_rare(rng, parameters, machine, how, n, ordinary)
    n_classes = int(rng.choice([2, 2, 3, 4])) if machine in ("SVC", "NuSVC", "LinearSVC") else 2
    n_classes = 3 if machine == "pairs" else n_classes
    n_classes = n_classes if n >= 2 * n_classes else 2
    if machine in ("SVR", "NuSVR", "LinearSVR", "epsilon_insensitive", "nu_regression"):
        y: Any = generate.targets(rng, sample, ordinary)
    else:
        y = generate.labels(rng, sample, n_classes, ordinary)
        if weight is not None:  # no class may be left without weight
            weight = np.where(weight > 0, weight, 1.0) if n <= 16 else weight
            for k in range(n_classes):
                place = np.flatnonzero(y == k)[0]
                weight[place] = max(weight[place], 1.0)
    X = np.abs(sample.X) if kernel == "chi2" else sample.X
    if kernel == "precomputed":
        with np.errstate(over="ignore", under="ignore"):
            dense = sample.dense / sample.unit
            squares = np.square(dense[:, None, :] - dense[None, :, :]).sum(axis=2) if n <= 60 else None
            X = np.exp(-squares) if squares is not None else np.nan_to_num(dense @ dense.T, posinf=1e300, neginf=-1e300)
    elif rng.random() < 0.1 and sample.shape not in ("tiny", "huge"):
        X = X.astype(np.float32)
    if machine in ("NuSVC", "nu_classification"):
        parameters["nu"] = min(parameters["nu"], _largest_nu(y, weight, parameters.get("multi_class") == "ovr"))
    known = TRAINING_PARAMETERS if how == "training" else getattr(widemargin, machine)._get_param_names()
    parameters = {name: value for name, value in parameters.items() if name in known}
    return Case(seed, machine, how, ordinary, sample.shape, X, y, weight, parameters)


def _largest_nu(y: NDArray, weight: Any, against_rest: bool) -> float:
    """Nearly the largest nu that every two-class problem has room for."""
    mass = np.bincount(y, weights=weight)
    if against_rest:
        return float(1.9 * min(mass.min(), mass.sum() - mass.max()) / mass.sum())
    return float(1.9 * mass.min() / (mass.min() + mass.max()))


def _kernel_parameters(rng: np.random.Generator, kernel: str, sample: generate.Points) -> dict[str, Any]:
    """gamma on the length of the data; exponents of polynomials stay moderate."""
    if kernel == "callable":
        return {"kernel": callable_gaussian}
    gamma = generate.power(rng, -1.5, 1.0) / sample.unit
    if kernel in ("rbf", "scaled"):
        gamma /= max(sample.unit, 1e-150)
    if kernel in ("poly", "sigmoid"):
        size = float(np.sqrt(np.mean(np.square(sample.dense / sample.unit))))
        gamma = generate.power(rng, -2.0, 0.5) / float(np.clip(size * sample.unit, 1e-150, 1e150)) ** 2
    gamma = float(np.clip(gamma, 1e-300, 1e300))
    if kernel == "scaled":  # by a factor that single precision may not hold
        return {"kernel": Scaled(generate.power(rng, -60.0, 20.0), Gaussian(gamma))}
    coef0 = float(rng.choice([0.0, 1.0] if kernel == "poly" else [0.0, -1.0]))
    return {"gamma": gamma, "degree": int(rng.integers(2, 5)), "coef0": coef0}


def _draw_rare(rng: np.random.Generator, parameters: dict, machine: str, how: str, n: int, ordinary: bool) -> None:
    """Parameters that most machines leave alone."""
    if rng.random() < 0.04:
        parameters["time_limit"] = generate.power(rng, -3.0, -1.0)
    if rng.random() < 0.05:
        parameters["max_iter"] = int(rng.integers(0, 300))
    if rng.random() < 0.08 and n <= 40 and how == "fit" and not ordinary:
        parameters["solver"] = str(rng.choice(REFERENCE))
    if rng.random() < 0.1:
        parameters["class_weight"] = "balanced"
    if rng.random() < 0.2:
        parameters["multi_class"] = "ovr"
    if rng.random() < 0.2:
        parameters["loss"] = "squared_epsilon_insensitive" if "SVR" in machine else "squared_hinge"
    elif "Linear" in machine:
        parameters["loss"] = "epsilon_insensitive" if "SVR" in machine else "hinge"
    if rng.random() < 0.5:
        parameters["penalize_intercept"] = False
    if rng.random() < 0.1:
        parameters["cache_size"] = float(rng.choice([1.0, 20.0]))


# ----- training and judging
def attack(seed: int) -> Outcome:
    """Train the case of a seed and judge its certificates."""
    case = draw(seed)
    outcome = Outcome(case)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            (_attack_training if case.how == "training" else _attack_estimator)(case, outcome, caught)
    except Exception as error:
        note_error(outcome, error)
    return outcome


def note_error(outcome: Outcome, error: Exception) -> None:
    """Note what was raised in the place of an answer."""
    if outcome.status:  # there was an answer: the trouble is ours
        raise error
    place = traceback.extract_tb(error.__traceback__)[-1]
    text = f"{type(error).__name__}: {error} ({place.name}, line {place.lineno})"
    if isinstance(error, REFUSALS):
        outcome.refusal = text
    else:
        outcome.crash = text


def _attack_estimator(case: Case, outcome: Outcome, caught: list[warnings.WarningMessage]) -> None:
    kind = getattr(widemargin, case.machine)
    model = kind(**case.parameters)
    fit = (case.X, case.y, case.weight)
    if case.how == "warm":
        model.set_params(warm_start=True, C=case.parameters["C"] / 7.0) if hasattr(model, "C") else None
        model.fit(*fit)
        model.set_params(C=case.parameters["C"]) if hasattr(model, "C") else None
    if case.how == "resume":
        model.set_params(max_iter=case.seed % 97).fit(*fit)
        caught.clear()
        model.resume(*fit, max_iter=-1, tol=case.parameters["tol"] / (1 + case.seed % 3))
    else:
        caught.clear()
        model.fit(*fit)
    certificate = model.certificate_
    outcome.holds, outcome.status = certificate.holds, model.status_.name
    warned = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    outcome.silent = not certificate.holds and not warned and model.status_ is not Status.STOPPED
    parts = list(certificate.parts) or [certificate]
    outcome.held = [part.holds for part in parts]
    if case.machine.startswith("Linear"):
        linear = linear_problems_of(model, *fit)
        outcome.verdicts = [judge_linear(problem, part) for problem, part in zip(linear, parts, strict=True)]
        return
    found = problems_of(model, *fit, parts)
    outcome.verdicts = [judge(problem, part) for problem, part in zip(found, parts, strict=True)]
    if certificate.holds and certificate.criterion == "kkt" and len(case.y) <= 400:
        outcome.disagrees = _verify(model, fit, certificate)


def _verify(model: Any, fit: tuple, certificate: Any) -> str:
    """`verify` may refuse a certificate that holds only by less than the errors both state."""
    again = widemargin.verify(model, *fit, tol=certificate.tol)
    spare = 2.0 * (getattr(certificate, "rounding", 0.0) + getattr(again, "rounding", 0.0)) + 1e-9 * certificate.tol
    if again.holds or again.violation <= certificate.tol + spare:
        return ""
    return f"verify says {again.violation:.9g} where the certificate says {certificate.violation:.9g}"


def _attack_training(case: Case, outcome: Outcome, caught: list[warnings.WarningMessage]) -> None:
    """Through `Training`, with float32 rows made on demand at any size."""
    p, y, n = case.parameters, case.y, case.X.shape[0]
    weight = np.ones(n) if case.weight is None else np.where(case.weight > 0, case.weight, 1.0)
    bound, tasks = p["C"] * weight, []
    members: list[NDArray] = []
    if case.machine == "pairs":
        members = [np.flatnonzero(y == k) for k in range(y.max() + 1)]
        for i in range(len(members)):
            for j in range(i + 1, len(members)):
                sign = np.repeat([1.0, -1.0], [len(members[i]), len(members[j])])
                index = np.concatenate([members[i], members[j]])
                tasks.append(Task(duals.hinge(sign, bound[index]), ClassPair(i, j)))
    else:
        sign = np.where(y == 1, 1.0, -1.0)
        dual = {
            "hinge": lambda: duals.hinge(sign, bound),
            "squared_hinge": lambda: duals.squared_hinge(sign, bound),
            "epsilon_insensitive": lambda: duals.epsilon_insensitive(y, bound, p["epsilon"]),
            "nu_classification": lambda: duals.nu_classification(sign, p["nu"], weight),
            "nu_regression": lambda: duals.nu_regression(y, bound, p["nu"]),
            "one_class": lambda: duals.one_class(weight, p["nu"]),
        }[case.machine]()
        tasks.append(Task(dual))
    named = {name: p[name] for name in ("gamma", "degree", "coef0") if name in p}
    kernel = make_kernel(p["kernel"], **named)
    options: dict[str, Any] = {"n_jobs": p["n_jobs"], "cache_size": p.get("cache_size")}
    if "in_memory" in inspect.signature(Training).parameters:
        options["in_memory"] = 0
    stopping = Stopping(p["tol"], p["stopping"], p.get("max_iter", -1), p["time_limit"])
    trained = Training(kernel, case.X, **options).train(tasks, stopping, classes=members)
    outcome.held = [answer.certificate.holds for answer in trained]
    outcome.holds = all(outcome.held)
    outcome.status = next((a.solution.status.name for a in trained if not a.certificate.holds), "OPTIMAL")
    dense = case.X.toarray() if sparse.issparse(case.X) else case.X
    for task, answer in zip(tasks, trained, strict=True):
        index = np.arange(n) if task.index is None else np.concatenate([members[k] for k in task.index])
        given = dense[np.ix_(index, index)].astype(np.float64) if p["kernel"] == "precomputed" else None
        formula = formula_of(p["kernel"], p.get("gamma"), p.get("degree"), p.get("coef0"), given)
        problem = _problem_of(task.dual, formula, dense[index], answer)
        outcome.verdicts.append(judge(problem, answer.certificate, answer.solution.Kb))


def _problem_of(dual: Any, formula: KernelFormula, X: NDArray, answer: Any) -> Problem:
    """The arrays of a dual and the answer to it."""
    level = np.array(answer.solution.thresholds)
    sums = np.array([dual.start[dual.group == g].astype(LONG).sum() for g in range(dual.n_groups)], LONG)
    return Problem(
        formula, X, answer.solution.beta, dual.linear_term, dual.lower, dual.upper, dual.diagonal, dual.epsilon,
        dual.group,
        dual.n_groups, sums, dual.row, dual.sign, level=level, slack=0.0,
        levels=[level, np.array(answer.certificate.level)] if len(answer.certificate.level) else [level],
    )  # fmt: skip
