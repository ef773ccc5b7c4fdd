"""Interrupted fits: random estimators and data, Ctrl-C at a random moment, and what is left of the estimator.

Everything follows from one integer, but for the moments of the clock. A moment is the beginning of a Python function or
the end of any call, where Python looks for signals, counted in an undisturbed fit (each is as probable as every other);
or a time, so that signals also come while compiled code runs. In some cases a second Ctrl-C follows. One case in
`COMMAND_EVERY` is `widemargin train` in a process of its own, ended by SIGINT or SIGTERM.

Afterwards the estimator is as it was before the call, after a KeyboardInterrupt, or it is usable: fitted attributes
that a model file accepts, predictions that are finite and belong to the certificate, parameters as before.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from joblib import hash as digest
from scipy import sparse

import widemargin
from tests.fuzz.generators import power
from tests.fuzz.summary import Figures
from widemargin import io
from widemargin.storage.errors import FileError

COMMAND_EVERY = 15  # seeds
COMMAND_SAMPLES = 6_000  # training takes about as long as imports and reading
COMMAND_SECONDS = (0.3, 5.0)  # from the start of the process
LONGEST_COMMAND = 120.0  # seconds
CODES = (0, 1, -signal.SIGINT, 130, -signal.SIGTERM, 143)  # documented, or before anything could catch the signal
ESTIMATORS: dict[str, tuple[str, tuple[str, ...]]] = {  # name -> targets, ways to train
    "SVC": ("labels", ("fit", "refit", "resume", "warm")),
    "NuSVC": ("labels", ("fit", "refit", "resume")),
    "SVR": ("numbers", ("fit", "refit", "resume", "warm")),
    "NuSVR": ("numbers", ("fit", "refit", "resume")),
    "OneClassSVM": ("none", ("fit", "refit", "resume")),
    "LinearSVC": ("labels", ("fit", "refit", "resume")),
    "LinearSVR": ("numbers", ("fit", "refit", "resume")),
    "KernelRidge": ("numbers", ("fit", "refit")),
    "LSSVC": ("labels", ("fit", "refit")),
    "LSSVR": ("numbers", ("fit", "refit")),
    "GaussianProcessRegressor": ("numbers", ("fit", "refit")),
    "KernelLMS": ("numbers", ("fit", "refit", "partial_fit")),
    "KernelPerceptron": ("labels", ("fit", "refit", "partial_fit")),
    "RVC": ("labels", ("fit", "refit")),
    "RVR": ("numbers", ("fit", "refit")),
}


@dataclass
class Attack:
    """One interrupted call. `how`: "fit" of a new estimator, "refit" of one fitted on other data, or as named."""

    seed: int
    name: str
    how: str
    parameters: dict[str, Any]
    data: tuple[Any, ...]
    before: tuple[Any, ...]
    by_call: bool
    moment: float  # share of the undisturbed call
    second: float | None  # share of the undisturbed call at which Ctrl-C is pressed again
    findings: list[str] = field(default_factory=list)
    ended: str = ""

    def __str__(self) -> str:
        pressed = "call" if self.by_call else "time"
        return f"seed {self.seed}: {self.name}.{self.how} {self.parameters}, at {self.moment:.3f} of it by {pressed}"


def draw(seed: int) -> Attack:
    """The case of a seed."""
    rng = np.random.default_rng([seed, 7])
    name = str(rng.choice(list(ESTIMATORS)))
    targets, ways = ESTIMATORS[name]
    how, d = str(rng.choice(ways)), int(rng.integers(1, 8))
    parameters: dict[str, Any] = {"on_interrupt": str(rng.choice(["raise", "raise", "keep"]))}
    if name == "KernelPerceptron":
        parameters = {}
    if name not in ("LinearSVC", "LinearSVR", "GaussianProcessRegressor"):
        parameters["kernel"] = str(rng.choice(["rbf", "linear", "poly", "laplacian"]))
    if "SV" in name and name not in ("NuSVC", "OneClassSVM"):
        parameters["C"] = power(rng, -1.0, 3.0)
    if name == "NuSVC":
        parameters["nu"] = 0.2
    if name == "SVC":
        parameters["probability"] = bool(rng.random() < 0.2)
        parameters["multi_class"] = str(rng.choice(["ovo", "ovr"]))
    if how == "warm":
        parameters["warm_start"] = True
    largest = 300 if name in ("GaussianProcessRegressor", "RVC", "RVR") else 2500
    n = int(20 * (largest / 20) ** rng.random())
    data, other = (samples(rng, n, width, targets) for width in (d, d + 1))
    if name == "GaussianProcessRegressor":  # whose kernel, of scikit-learn, takes dense data only
        data, other = ((X.toarray() if sparse.issparse(X) else X, y) for X, y in (data, other))
    before = other if how == "refit" else data
    second = float(rng.random()) if rng.random() < 0.15 else None
    return Attack(seed, name, how, parameters, data, before, bool(rng.random() < 0.6), float(rng.random()), second)


def samples(rng: np.random.Generator, n: int, d: int, targets: str) -> tuple[Any, ...]:
    """X and y with some noise, so that there is something to solve."""
    X = rng.normal(size=(n, d))
    score = X[:, 0] + 0.5 * rng.normal(size=n)
    if targets == "none":
        return (X,)
    if targets == "numbers":
        y = score
    else:
        k = int(rng.choice([2, 2, 3, 5]))
        y = np.digitize(score, np.linspace(-1.0, 1.0, k + 1)[1:-1])
        y[:k] = y[k : 2 * k] = np.arange(k)  # every class occurs
    return (sparse.csr_matrix(X) if rng.random() < 0.15 and d > 2 else X), y


def prepared(attack: Attack) -> tuple[Any, Callable[[Any], Any]]:
    """The estimator before the call, and the call."""
    model = getattr(widemargin, attack.name)(**attack.parameters)
    if attack.how == "partial_fit":
        model.fit(*attack.before)
        return model, lambda model: model.partial_fit(*attack.data)
    if attack.how == "resume":
        model.set_params(max_iter=3).fit(*attack.before)
        model.set_params(max_iter=-1 if "Linear" not in attack.name else 1000)
        return model, lambda model: model.resume(*attack.data)
    if attack.how != "fit":
        model.fit(*attack.before)
    return model, lambda model: model.fit(*attack.data)


class Presses:
    """Ctrl-C at numbered events of calls, or after some seconds."""

    def __init__(self, calls: list[int], seconds: list[float]) -> None:
        self.calls, self.seconds, self.count, self.made = sorted(calls), sorted(seconds), 0, 0
        self.lost = 0  # presses that Python itself ignored, in a destructor

    def _press(self) -> None:
        self.made += 1
        signal.raise_signal(signal.SIGINT)

    def _on_event(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "c_call":  # before a call Python does not look for signals
            self.count += 1
            if self.calls and self.count >= self.calls[0]:
                self.calls.pop(0)
                self._press()

    def _on_alarm(self, number: int, frame: FrameType | None) -> None:
        if self.seconds:
            self.seconds.pop(0)
            self._press()

    def _on_unraisable(self, what: Any) -> None:
        self.lost += issubclass(what.exc_type, KeyboardInterrupt)

    def during(self, call: Callable[[], Any], count_calls: bool) -> Any:
        """Run `call`; KeyboardInterrupt passes."""
        handler = signal.signal(signal.SIGALRM, self._on_alarm)
        hook, sys.unraisablehook = sys.unraisablehook, self._on_unraisable
        try:
            if self.seconds:
                again = self.seconds[1] - self.seconds[0] if len(self.seconds) > 1 else 0.0
                signal.setitimer(signal.ITIMER_REAL, max(self.seconds[0], 1e-6), max(again, 1e-3))
            if count_calls:
                sys.setprofile(self._on_event)
            return call()
        finally:
            sys.setprofile(None)
            self.seconds = []
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, handler)
            sys.unraisablehook = hook


def interrupt(seed: int) -> Attack:
    """Interrupt the call of a seed and look at the estimator."""
    attack = draw(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, call = prepared(attack)
        rehearsal = pickle.loads(pickle.dumps(model))
        call(rehearsal)  # compiles
        rehearsal, counter = pickle.loads(pickle.dumps(model)), Presses([], [])
        began = time.perf_counter()
        counter.during(lambda: call(rehearsal), attack.by_call)
        total = counter.count if attack.by_call else time.perf_counter() - began
        moments = [total * share for share in (attack.moment, attack.second) if share is not None]
        presses = Presses([int(at) + 1 for at in moments], []) if attack.by_call else Presses([], moments)
        before, parameters, raised = digest(vars(model)), digest(model.get_params()), False
        try:
            presses.during(lambda: call(model), attack.by_call)
        except KeyboardInterrupt:
            raised = True
        except Exception:
            attack.findings.append(f"not KeyboardInterrupt: {traceback.format_exc(limit=-4)}")
            return attack
        attack.ended = "not pressed" if not presses.made else "raised" if raised else "returned"
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            attack.findings.append("the handler of Ctrl-C was not restored")
        if digest(model.get_params()) != parameters:
            attack.findings.append("parameters changed")
        if (
            presses.made > presses.lost
            and not raised
            and (attack.parameters.get("on_interrupt") == "raise" or presses.made > 1)
        ):
            attack.findings.append("a Ctrl-C was lost")
        if raised and digest(vars(model)) == before:
            attack.ended += ", as before"
        else:
            try:
                attack.findings += judge(attack, model)
            except Exception:
                attack.findings.append(f"not usable: {traceback.format_exc(limit=-4)}")
    return attack


def judge(attack: Attack, model: Any) -> list[str]:
    """What is wrong with a model that ought to be usable on the data of the call."""
    X, found = attack.data[0], []
    answers = model.predict(X)
    values = model.decision_function(X) if hasattr(model, "decision_function") else answers
    numbers = [np.asarray(each, np.float64) for each in (values, answers)]
    if any(len(each) != X.shape[0] or not np.isfinite(each).all() for each in numbers):
        found.append("predictions are not finite, or not one per sample")
    if model.n_features_in_ != X.shape[1]:
        found.append(f"n_features_in_ is {model.n_features_in_} of {X.shape[1]}")
    if not hasattr(model, "certificate_") and attack.name not in ("KernelLMS", "KernelPerceptron", "RVC", "RVR"):
        found.append("there is no certificate")
    # Not NuSVR: before the end both multipliers of a sample may be positive, and attributes hold their difference only.
    if attack.name in ("SVC", "NuSVC", "SVR", "OneClassSVM"):
        stated, again = model.certificate_, widemargin.verify(model, *attack.data, tol=model.certificate_.tol)
        spare = 2.0 * (stated.rounding + again.rounding) + 1e-6 * (stated.violation + again.violation)
        if not again.violation <= stated.violation + spare:
            found.append(f"the certificate states {stated.violation:.9g}, verify finds {again.violation:.9g}")
    if attack.name == "GaussianProcessRegressor":
        same = pickle.loads(pickle.dumps(model)).predict(X)
    else:
        with tempfile.TemporaryDirectory() as folder:
            io.save(model, Path(folder) / "model")
            same = io.load(Path(folder) / "model").predict(X)
    same_numbers = np.asarray(same, np.float64)  # rounded as the place of the arrays in memory has it
    if not np.allclose(same_numbers, numbers[1], rtol=1e-9, atol=1e-9 * np.abs(numbers[1]).max()):
        found.append("the saved model predicts otherwise")
    return found


# ---- the command line


def interrupt_command(seed: int, folder: Path) -> Attack:
    """End `widemargin train` over an existing model, and look at the file."""
    rng = np.random.default_rng([seed, 8])
    number = signal.SIGTERM if rng.random() < 0.7 else signal.SIGINT
    seconds = float(rng.uniform(*COMMAND_SECONDS))
    attack = Attack(seed, "train", f"{number.name} after {seconds:.3f} s", {}, (), (), False, seconds, None)
    X = rng.normal(size=(COMMAND_SAMPLES, 8))
    y = np.sign(X[:, 0] + rng.normal(size=COMMAND_SAMPLES))
    data, model = folder / "rows.libsvm", folder / "rows.model"
    with open(data, "w") as stream:
        io.write_libsvm(X, y, stream)
    io.save(widemargin.SVC().fit([[0.0], [1.0]], [0, 1]), model)
    old = model.read_bytes()
    command = [sys.executable, "-m", "widemargin", "train", str(data), "-o", str(model), "-c", "1000", "-g", "0.3"]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "80"}
    )
    is_sent = False
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(number)
        is_sent = True
    try:
        errors = process.communicate(timeout=LONGEST_COMMAND)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        attack.findings.append("the process did not end")
        return attack
    attack.ended = f"code {process.returncode}" if is_sent else "not pressed"
    if process.returncode not in CODES:
        attack.findings.append(f"code {process.returncode}: {errors[-600:]}")
    is_early = process.returncode in (-signal.SIGINT, -signal.SIGTERM)  # Python's own words, while it is imported
    if "Traceback" in errors and not is_early and "KeyboardInterrupt" not in errors:
        attack.findings.append(f"a traceback: {errors[-600:]}")
    if model.read_bytes() != old:
        try:
            values = io.load(model).decision_function(np.zeros((2, 8)))
            if not np.isfinite(values).all():
                attack.findings.append("the saved model does not predict")
        except (FileError, ValueError) as error:
            attack.findings.append(f"the file cannot be used: {error}")
    elif process.returncode in (0, 1):
        attack.findings.append("no model was saved")
    if list(folder.glob(".*.part")):
        attack.findings.append("a draft was left")
    return attack


# ---- many


class Tally:
    """Counts over all interruptions."""

    def __init__(self) -> None:
        self.ended: Counter[str] = Counter()
        self.failures: list[str] = []
        self.failed_attacks = 0

    def add(self, attack: Attack) -> None:
        self.ended[attack.ended or "failed"] += 1
        self.failed_attacks += bool(attack.findings)
        for text in attack.findings:
            self.failures.append(f"{attack}\n    {text}")
            print(self.failures[-1], flush=True)

    @property
    def pressed(self) -> int:
        return sum(n for name, n in self.ended.items() if name != "not pressed")

    def table(self) -> str:
        lines: list[tuple[str, Any]] = [("interrupted fits", self.pressed)]
        lines += [(f"  {name}", n) for name, n in sorted(self.ended.items()) if name != "not pressed"]
        lines += [("ended before Ctrl-C", self.ended["not pressed"]), ("FAILURES", len(self.failures))]
        return "\n".join(f"{name:<44} {value}" for name, value in lines)

    @property
    def failed(self) -> bool:
        return bool(self.failures)

    @property
    def figures(self) -> Figures:
        return {"interruptions": self.pressed, "half-changed or unusable after them": self.failed_attacks}


def run(first: int, count: int, minutes: float) -> Tally:
    """Interrupt with the seeds from `first` on, in this process, until the time is over."""
    tally, deadline = Tally(), time.time() + 60.0 * minutes
    signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore it
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            if time.time() > deadline:
                break
            is_command = seed % COMMAND_EVERY == COMMAND_EVERY - 1
            tally.add(interrupt_command(seed, Path(folder)) if is_command else interrupt(seed))
    return tally
