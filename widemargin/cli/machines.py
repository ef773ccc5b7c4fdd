"""From options to an estimator. Letters, numbers and defaults are those of LIBSVM's `svm-train`, words stand beside.

-s  machine   0 svc   1 nusvc   2 oneclass   3 svr   4 nusvr
-t  kernel    0 linear u'v   1 poly (g u'v + r)^d   2 rbf exp(-g |u-v|^2)   3 sigmoid tanh(g u'v + r)   4 precomputed
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import click

from widemargin.cli.command import option
from widemargin.cli.parameters import ANY_NUMBER, FROM_ZERO, POSITIVE, Named, Number, Whole

MACHINES = ("svc", "nusvc", "oneclass", "svr", "nusvr")
CLASSES = {"svc": "SVC", "nusvc": "NuSVC", "oneclass": "OneClassSVM", "svr": "SVR", "nusvr": "NuSVR"}
KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
MORE_KERNELS = ("laplacian", "chi2", "cosine")  # without a number in LIBSVM
STRING_KERNELS = ("spectrum", "blended", "mismatch", "gapped", "subsequence")  # of FASTA and lines of text
LOSSES = {  # machine -> word of the command line -> word of the estimator
    "svc": {"linear": "hinge", "quadratic": "squared_hinge"},
    "svr": {"linear": "epsilon_insensitive", "quadratic": "squared_epsilon_insensitive"},
}

MACHINE_WORDS, KERNEL_WORDS = Named(MACHINES), Named(KERNELS, MORE_KERNELS + STRING_KERNELS)
_MACHINE, _KERNEL, _EFFORT = "The machine", "The kernel", "How exactly, at what cost"

OPTIONS = (
    option("-s", "--machine", type=MACHINE_WORDS, default="svc", metavar="M", heading=_MACHINE,
           help=f"{MACHINE_WORDS.listed()}.  [svc]"),
    option("-c", "--C", "C", type=POSITIVE, default="1", metavar="C", heading=_MACHINE,
           help="Price of errors; inf: none allowed.  [1]"),
    option("-n", "--nu", type=POSITIVE, default="0.5", metavar="NU", heading=_MACHINE,
           help="nu of nusvc, oneclass and nusvr.  [0.5]"),
    option("-p", "--epsilon", type=FROM_ZERO, default="0.1", metavar="EPS", heading=_MACHINE,
           help="Half-width of the tube of svr without loss.  [0.1]"),
    option("--loss", type=click.Choice(["linear", "quadratic"]), default="linear", heading=_MACHINE,
           help="How errors of svc and svr count.  [linear]"),
    option("-w", "--weight", nargs=2, multiple=True, metavar="LABEL W", heading=_MACHINE,
           help="C of a class becomes W * C; -w1 5 works too; repeat for more classes."),
    option("-b", "--probability", type=click.Choice(["0", "1"]), default="0", heading=_MACHINE,
           help="1: also probabilities of classes.  [0]"),
    option("-t", "--kernel", type=KERNEL_WORDS, default="rbf", metavar="K", heading=_KERNEL,
           help=f"{KERNEL_WORDS.listed()}.  [rbf]"),
    option("-g", "--gamma", type=Number(0.0, words=("auto", "scale")), default="auto", metavar="G", heading=_KERNEL,
           help="A number, auto = 1/features, or scale = 1/(features * variance).  [auto]"),
    option("-d", "--degree", type=Whole(0), default=3, metavar="D", heading=_KERNEL,
           help="Degree of poly; length of substrings of string kernels.  [3]"),
    option("-r", "--coef0", type=ANY_NUMBER, default="0", metavar="R", heading=_KERNEL,
           help="r of poly and sigmoid.  [0]"),
    option("-e", "--tol", type=POSITIVE, default="1e-3", metavar="TOL", heading=_EFFORT,
           help="Largest violation of the optimality conditions.  [0.001]"),
    option("--stopping", type=click.Choice(["kkt", "gap", "objective"]), default="kkt", heading=_EFFORT,
           help="What TOL is compared with.  [kkt]"),
    option("--time-limit", type=POSITIVE, metavar="S", heading=_EFFORT,
           help="Seconds after which the best machine so far is kept."),
    option("-m", "--cache", type=POSITIVE, metavar="MB", heading=_EFFORT,
           help="Memory for kernel rows.  [a share of what is free]"),
    option("-h", "--shrinking", type=click.Choice(["0", "1"]), default="1", heading=_EFFORT,
           help="As in LIBSVM; accepted, of no effect on the answer.  [1]"),
    option("-j", "--jobs", type=int, metavar="N", heading=_EFFORT, help="Threads.  [all cores]"),
)  # fmt: skip


def machine_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say which machine, which kernel, and how exactly."""
    for add in reversed(OPTIONS):
        function = add(function)
    return function


def make_machine(options: SimpleNamespace, *, verbose: bool | int = False) -> Any:
    """The unfitted estimator that the options describe."""
    import widemargin

    machine = options.machine
    settings: dict[str, Any] = {
        "kernel": string_kernel(options) if options.kernel in STRING_KERNELS else options.kernel,
        "gamma": options.gamma,
        "degree": options.degree,
        "coef0": options.coef0,
        "tol": options.tol,
        "shrinking": options.shrinking == "1",
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
        _only_classifiers(machine, "--weight")
    if options.probability == "1":
        _only_classifiers(machine, "--probability")
        settings["probability"] = True
    return getattr(widemargin, CLASSES[machine])(**settings)


def set_class_weight(model: Any, options: SimpleNamespace, classes: Iterable[Any]) -> None:
    """Weights by label. Labels come as text: each is matched with a class, by value where classes are numbers."""
    if not options.weight:
        return
    known = list(classes)
    weights = {}
    for label, weight in options.weight:
        try:
            number = float(weight)
        except ValueError:
            raise ValueError(f"--weight needs a label and a number, such as -w1 5; got {label} {weight}.") from None
        found = [one for one in known if _same_label(one, label)]
        if not found:
            shown = ", ".join(str(one) for one in known[:10])
            raise ValueError(f"--weight {label}: no class is called {label}; there are {shown}.")
        weights[found[0]] = number
    model.set_params(class_weight=weights)


def is_classifier(machine: str) -> bool:
    """Whether labels are names of classes rather than numbers to be met."""
    return machine in ("svc", "nusvc")


def string_kernel(options: SimpleNamespace) -> Any:
    """A kernel between strings; -d is the length of the substrings it looks at."""
    import widemargin.kernels.strings as strings  # type: ignore[import-not-found,unused-ignore]

    kinds = {
        "spectrum": "Spectrum",
        "blended": "BlendedSpectrum",
        "mismatch": "Mismatch",
        "gapped": "GappedKmer",
        "subsequence": "Subsequence",
    }
    return getattr(strings, kinds[options.kernel])(options.degree)


def _only_classifiers(machine: str, name: str) -> None:
    if not is_classifier(machine):
        raise ValueError(f"{name} is for svc and nusvc; {machine} has no classes: leave {name} out.")


def _same_label(label: Any, text: str) -> bool:
    """Whether a class is the one written as `text`: 1, +1 and 1.0 are the same."""
    try:
        return float(label) == float(text)
    except ValueError:
        return str(label) == text
