"""From options to an estimator. Letters, numbers and defaults are those of LIBSVM's `svm-train`, words stand beside.

-s  machine   0 svc   1 nusvc   2 oneclass   3 svr   4 nusvr
-t  kernel    0 linear u'v   1 poly (g u'v + r)^d   2 rbf exp(-g |u-v|^2)   3 sigmoid tanh(g u'v + r)   4 precomputed
"""

from __future__ import annotations

import argparse
from typing import Any

import widemargin

MACHINES = ("svc", "nusvc", "oneclass", "svr", "nusvr")
CLASSES = {"svc": "SVC", "nusvc": "NuSVC", "oneclass": "OneClassSVM", "svr": "SVR", "nusvr": "NuSVR"}
KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
MORE_KERNELS = ("laplacian", "chi2", "cosine")  # without a number in LIBSVM
LOSSES = {  # machine -> word of the command line -> word of the estimator
    "svc": {"linear": "hinge", "quadratic": "squared_hinge"},
    "svr": {"linear": "epsilon_insensitive", "quadratic": "squared_epsilon_insensitive"},
}


def add_machine_options(parser: argparse.ArgumentParser) -> None:
    """The options of `train` that say which machine, which kernel, and how exactly."""
    machine = parser.add_argument_group("the machine")
    machine.add_argument(
        "-s", "--machine", type=_machine, default="svc", metavar="M", help=_listed(MACHINES) + " (svc)"
    )
    machine.add_argument("-c", "--C", type=_positive, default=1.0, metavar="C", help="price of errors; inf: none (1)")
    machine.add_argument(
        "-n", "--nu", type=_positive, default=0.5, metavar="NU", help="nu of nusvc, oneclass, nusvr (0.5)"
    )
    machine.add_argument(
        "-p", "--epsilon", type=_number, default=0.1, metavar="EPS", help="width of the tube of svr without loss (0.1)"
    )
    machine.add_argument(
        "--loss", choices=("linear", "quadratic"), default="linear", help="how errors of svc and svr count (linear)"
    )
    machine.add_argument(
        "-w",
        "--weight",
        nargs=2,
        action="append",
        default=[],
        metavar=("LABEL", "W"),
        help="C of a class becomes W * C; -w1 5 works too; repeat for more classes",
    )
    kernel = parser.add_argument_group("the kernel")
    kernel.add_argument(
        "-t",
        "--kernel",
        type=_kernel,
        default="rbf",
        metavar="K",
        help=_listed(KERNELS) + "; or " + ", ".join(MORE_KERNELS) + " (rbf)",
    )
    kernel.add_argument(
        "-g", "--gamma", type=_gamma, default="auto", metavar="G", help="a number, auto = 1/features, or scale (auto)"
    )
    kernel.add_argument("-d", "--degree", type=int, default=3, metavar="D", help="degree of poly (3)")
    kernel.add_argument("-r", "--coef0", type=_number, default=0.0, metavar="R", help="r of poly and sigmoid (0)")
    effort = parser.add_argument_group("how exactly, at what cost")
    effort.add_argument("-e", "--tol", type=_positive, default=1e-3, metavar="TOL", help="largest violation (0.001)")
    effort.add_argument(
        "--stopping", choices=("kkt", "gap", "objective"), default="kkt", help="what TOL is compared with (kkt)"
    )
    effort.add_argument("--time-limit", type=_positive, metavar="S", help="seconds after which the best so far is kept")
    effort.add_argument(
        "-m", "--cache", type=_positive, metavar="MB", help="memory for kernel rows (a share of what is free)"
    )
    effort.add_argument("-j", "--jobs", type=int, metavar="N", help="threads (all cores)")


def make_machine(options: argparse.Namespace, *, verbose: bool) -> Any:
    """The unfitted estimator that the options describe."""
    machine = options.machine
    settings: dict[str, Any] = {
        "kernel": options.kernel,
        "gamma": options.gamma,
        "degree": options.degree,
        "coef0": options.coef0,
        "tol": options.tol,
        "stopping": options.stopping,
        "time_limit": options.time_limit,
        "cache_size": options.cache,
        "n_jobs": options.jobs,
        "verbose": verbose,
    }
    if machine in ("svc", "svr", "nusvr"):
        settings["C"] = options.C
    if machine in ("nusvc", "nusvr", "oneclass"):
        settings["nu"] = options.nu
    if machine == "svr":
        settings["epsilon"] = options.epsilon
    if machine in LOSSES:
        settings["loss"] = LOSSES[machine][options.loss]
    elif options.loss != "linear":
        raise ValueError(f"--loss is for svc and svr; {machine} has only the linear loss: leave --loss out.")
    if options.weight:
        settings["class_weight"] = _class_weight(machine, options.weight)
    return getattr(widemargin, CLASSES[machine])(**settings)


def is_classifier(machine: str) -> bool:
    """Whether labels are names of classes rather than numbers to be met."""
    return machine in ("svc", "nusvc")


def attach_weight_labels(arguments: list[str]) -> list[str]:
    """LIBSVM glues the label to the letter, `-w1 5` or `-w-1 5`: take them apart for the parser.

    Examples
    --------
    >>> attach_weight_labels(["-w1", "5", "-w-1", "2", "-c", "1"])
    ['-w', '1', '5', '-w', '-1', '2', '-c', '1']
    """
    apart = []
    for argument in arguments:
        label = argument[2:]
        if argument.startswith("-w") and label and label.lstrip("+-").replace(".", "", 1).isdigit():
            apart += ["-w", label]
        else:
            apart.append(argument)
    return apart


def _class_weight(machine: str, pairs: list[list[str]]) -> dict[float, float]:
    """Weights by label, as numbers."""
    if not is_classifier(machine):
        raise ValueError(f"--weight is for svc and nusvc; {machine} has no classes: leave --weight out.")
    weights = {}
    for label, weight in pairs:
        try:
            weights[float(label)] = float(weight)
        except ValueError:
            raise ValueError(f"--weight needs two numbers, a label and its weight; got {label} {weight}.") from None
    return weights


def _machine(text: str) -> str:
    return _word_or_number(text, MACHINES, ())


def _kernel(text: str) -> str:
    return _word_or_number(text, KERNELS, MORE_KERNELS)


def _word_or_number(text: str, numbered: tuple[str, ...], more: tuple[str, ...]) -> str:
    """A word, or its number in LIBSVM's list."""
    if text.isdigit() and int(text) < len(numbered):
        return numbered[int(text)]
    if text in numbered + more:
        return text
    raise argparse.ArgumentTypeError(
        f"{text!r} is unknown, expected {_listed(numbered)}{', ' if more else ''}{', '.join(more)}"
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def _positive(text: str) -> float:
    value = _number(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text} is not positive, expected a number above 0")
    return value


def _gamma(text: str) -> float | str:
    return text if text in ("auto", "scale") else _positive(text)


def _listed(words: tuple[str, ...]) -> str:
    """Words with their numbers, as shown in help and errors."""
    return ", ".join(f"{number} {word}" for number, word in enumerate(words))
