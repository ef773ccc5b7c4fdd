"""From options to an estimator. Letters, numbers and defaults are those of LIBSVM's `svm-train`, words stand beside.

-s  machine   0 svc   1 nusvc   2 oneclass   3 svr   4 nusvr
-t  kernel    0 linear u'v   1 poly (g u'v + r)^d   2 rbf exp(-g |u-v|^2)   3 sigmoid tanh(g u'v + r)   4 precomputed
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from types import SimpleNamespace
from typing import Any

import click

from widemargin.cli.command import option, together
from widemargin.cli.parameters import ANY_NUMBER, FROM_ZERO, POSITIVE, SWITCH, Named, Number, Whole
from widemargin.estimators.registry import LIBSVM_TYPES

MACHINES = {name.lower().removesuffix("svm"): name for name in LIBSVM_TYPES}  # svc, nusvc, oneclass, svr, nusvr
KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
MORE_KERNELS = ("laplacian", "chi2", "cosine")  # without a number in LIBSVM
STRING_KERNELS = {  # of FASTA and lines of text: word of the command line -> class
    "spectrum": "Spectrum",
    "blended": "BlendedSpectrum",
    "mismatch": "Mismatch",
    "gapped": "GappedKmer",
    "subsequence": "Subsequence",
}
LOSSES = {  # machine -> word of the command line -> word of the estimator
    "svc": {"linear": "hinge", "quadratic": "squared_hinge"},
    "svr": {"linear": "epsilon_insensitive", "quadratic": "squared_epsilon_insensitive"},
}

MACHINE_WORDS, KERNEL_WORDS = Named(tuple(MACHINES)), Named(KERNELS, (*MORE_KERNELS, *STRING_KERNELS))
_machine, _kernel = partial(option, heading="The machine"), partial(option, heading="The kernel")
_effort = partial(option, heading="How exactly, at what cost")

#: The options that say which machine, which kernel, and how exactly.
machine_options = together(
    _machine("-s", "--machine", type=MACHINE_WORDS, default="svc", metavar="M",
             help=f"{MACHINE_WORDS.listed()}.  [svc]"),
    _machine("-c", "--C", "C", type=POSITIVE, default="1", metavar="C",
             help="Price of errors; inf: none allowed.  [1]"),
    _machine("-n", "--nu", type=POSITIVE, default="0.5", metavar="NU", help="nu of nusvc, oneclass and nusvr.  [0.5]"),
    _machine("-p", "--epsilon", type=FROM_ZERO, default="0.1", metavar="EPS",
             help="Half-width of the tube of svr without loss.  [0.1]"),
    _machine("--loss", type=click.Choice(["linear", "quadratic"]), default="linear",
             help="How errors of svc and svr count.  [linear]"),
    _machine("-w", "--weight", nargs=2, multiple=True, metavar="LABEL W",
             help="C of a class becomes W * C; -w1 5 works too; repeat for more classes."),
    _machine("-b", "--probability", type=SWITCH, default="0", help="1: also probabilities of classes.  [0]"),
    _kernel("-t", "--kernel", type=KERNEL_WORDS, default="rbf", metavar="K", help=f"{KERNEL_WORDS.listed()}.  [rbf]"),
    _kernel("-g", "--gamma", type=Number(0.0, words=("auto", "scale")), default="auto", metavar="G",
            help="A number, auto = 1/features, or scale = 1/(features * variance).  [auto]"),
    _kernel("-d", "--degree", type=Whole(0), default=3, metavar="D",
            help="Degree of poly; length of substrings of string kernels.  [3]"),
    _kernel("-r", "--coef0", type=ANY_NUMBER, default="0", metavar="R", help="r of poly and sigmoid.  [0]"),
    _effort("-e", "--tol", type=POSITIVE, default="1e-3", metavar="TOL",
            help="Largest violation of the optimality conditions.  [0.001]"),
    _effort("--stopping", type=click.Choice(["kkt", "gap", "objective"]), default="kkt",
            help="What TOL is compared with.  [kkt]"),
    _effort("--time-limit", type=POSITIVE, metavar="S", help="Seconds after which the best machine so far is kept."),
    _effort("-m", "--cache", "cache_size", type=POSITIVE, metavar="MB",
            help="Memory for kernel rows.  [a share of what is free]"),
    _effort("-h", "--shrinking", type=SWITCH, default="1",
            help="As in LIBSVM; accepted, of no effect on the answer.  [1]"),
    _effort("-j", "--jobs", "n_jobs", type=int, metavar="N", help="Threads.  [all cores]"),
)  # fmt: skip


def make_machine(options: SimpleNamespace, *, verbose: bool | int = False) -> Any:
    """The unfitted estimator that the options describe; they have the names of its parameters."""
    import widemargin

    machine = options.machine
    if machine not in LOSSES and options.loss != "linear":
        raise ValueError(f"--loss is for svc and svr; {machine} has only the linear loss: leave --loss out.")
    for name, given in (("--weight", options.weight), ("--probability", options.probability)):
        if given and not is_classifier(machine):
            raise ValueError(f"{name} is for svc and nusvc; {machine} has no classes: leave {name} out.")
    kind = getattr(widemargin, MACHINES[machine])
    settings = vars(options) | {"verbose": verbose, "loss": LOSSES.get(machine, {}).get(options.loss)}
    if options.kernel in STRING_KERNELS:
        settings["kernel"] = string_kernel(options)
    known = kind().get_params()
    return kind(**{name: value for name, value in settings.items() if name in known})


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
    from widemargin.kernels import strings

    return getattr(strings, STRING_KERNELS[options.kernel])(options.degree)


def _same_label(label: Any, text: str) -> bool:
    """Whether a class is the one written as `text`: 1, +1 and 1.0 are the same."""
    try:
        return float(label) == float(text)
    except ValueError:
        return str(label) == text
