"""From options to an estimator, and its fit."""

from __future__ import annotations

import time
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import widemargin
from widemargin.cli.data import Data, targets_for
from widemargin.cli.options import MACHINES, STRING_KERNELS
from widemargin.kernels import names
from widemargin.kernels.names import make_kernel

LOSSES = {  # model -> word of the command line -> word of the estimator
    "svc": {"linear": "hinge", "quadratic": "squared_hinge"},
    "svr": {"linear": "epsilon_insensitive", "quadratic": "squared_epsilon_insensitive"},
}


def make_machine(options: SimpleNamespace, **own: Any) -> Any:
    """Return the unfitted estimator for the options, which have the names of its parameters; `own` are further ones."""
    machine = options.machine
    if machine not in LOSSES and options.loss != "linear":
        raise ValueError(f"--loss is for svc and svr; {machine} has only the linear loss: leave --loss out.")
    if options.weight and not is_classifier(machine):
        raise ValueError(f"--weight is for svc and nusvc; {machine} has no classes: leave --weight out.")
    kind = getattr(widemargin, MACHINES[machine])
    settings = vars(options) | {"verbose": False, "loss": LOSSES.get(machine, {}).get(options.loss)} | own
    if options.kernel in STRING_KERNELS:
        name = next(name for name in names.STRING_KERNELS if name.startswith(options.kernel))
        settings["kernel"] = make_kernel(name, k=options.degree)
    if not options.probability:
        del settings["probability"]  # the default, which is another word in scikit-learn's interface
    known = kind().get_params()
    return kind(**{name: value for name, value in settings.items() if name in known})


def prepared_machine(options: SimpleNamespace, data: Data, **own: Any) -> tuple[Any, Any]:
    """Return the unfitted estimator for some data, and its targets (None for one-class)."""
    model = make_machine(options, **own)
    if options.machine == "oneclass":
        return model, None
    y = targets_for(model, data, options.data)
    if is_classifier(options.machine) and y.dtype.kind == "f":
        raise ValueError(
            f"{options.data} has targets such as {y[np.argmax(y % 1 != 0)]:g}, which are no classes: this looks like "
            "regression, -s svr."
        )
    if options.weight:
        set_class_weight(model, options.weight, np.unique(y).tolist())
    return model, y


def set_class_weight(model: Any, given: list[tuple[str, str]], classes: list[Any]) -> None:
    """Set weights by label. Labels are text: each is matched with a class, by value if classes are numbers."""
    weights = {}
    for label, weight in given:
        try:
            number = float(weight)
        except ValueError:
            raise ValueError(f"--weight needs a label and a number, such as -w1 5; got {label} {weight}.") from None
        found = [one for one in classes if _same_label(one, label)]
        if not found:
            shown = ", ".join(str(one) for one in classes[:10])
            raise ValueError(f"--weight {label}: no class is called {label}; there are {shown}.")
        weights[found[0]] = number
    model.set_params(class_weight=weights)


def is_classifier(machine: str) -> bool:
    """Whether the estimator is a classifier, whose targets are class labels."""
    return machine in ("svc", "nusvc")


def fit(model: Any, X: Any, y: Any) -> tuple[float, list[str]]:
    """Fit; return the seconds and the warnings, except for that of an early end, which the certificate shows."""
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    notes = [str(warning.message) for warning in caught if not issubclass(warning.category, ConvergenceWarning)]
    return time.perf_counter() - began, notes


def fit_or_stop(model: Any, X: Any, y: Any) -> Any:
    """Fit without warnings, as one of many fits: Ctrl-C ends them all, since no command runs at a prompt."""
    fit(model, X, y)
    return model


def _same_label(label: Any, text: str) -> bool:
    """Whether a class is the one written as `text`: 1, +1 and 1.0 are the same."""
    try:
        return float(label) == float(text)
    except ValueError:
        return str(label) == text
