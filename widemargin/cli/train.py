"""`widemargin train`: read, fit, certify, save. Ctrl-C keeps the best machine so far."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from widemargin.cli.command import FINE, NOT_CERTIFIED, new_command, option
from widemargin.cli.data import Data, data_options, read_training, targets_for
from widemargin.cli.machines import is_classifier, machine_options, make_machine, set_class_weight
from widemargin.cli.parameters import FILE, Whole
from widemargin.cli.screen import Screen, certificate_facts, certificate_table, plural
from widemargin.storage.atomic import check_writable

EXAMPLES = (
    ("train a9a", "Gaussian kernel, C = 1, gamma = 1/features; writes a9a.model."),
    ("train a9a -c 10 -g 0.05 -o income.model", "As `svm-train -c 10 -g 0.05 a9a income.model`."),
    ("train a9a -t linear -c inf", "Hard margin."),
    ("train a9a -w1 3", "Errors on class 1 cost three times as much."),
    ("train people.csv --target income --scale standard", "A table; texts become 0/1 columns, numbers are scaled."),
    ("train -s svr -p 0.01 housing.xz", "Regression."),
    ("train -s oneclass -n 0.05 normal", "What is usual?"),
    ("train promoters.fa -t spectrum -d 4", "Strings, compared by their substrings of length 4."),
)


@new_command("train", examples=EXAMPLES)
@click.argument("data", type=FILE, metavar="FILE")
@click.argument("model", type=FILE, metavar="[MODEL]", required=False)
@option("-o", "--output", type=FILE, metavar="MODEL", help="Where to save.  [FILE's name + .model, here]")
@option("--report", type=FILE, metavar="HTML", help="Write a page about the machine, as `widemargin report` does.")
@option("-v", "--folds", type=Whole(2), metavar="N", help="Cross-validate in N parts instead of training.")
@machine_options
@data_options
def command(options: SimpleNamespace, screen: Screen) -> int:
    """Train a machine on FILE, certify it and save it as MODEL.

    Letters, numbers and defaults are those of LIBSVM's svm-train. Ctrl-C keeps the best machine so far: it is certified
    and saved like any other.
    """
    if options.folds is not None:
        from widemargin.cli.cv import cross_validate

        return cross_validate(options, screen)
    from widemargin.io.model_file import save

    output = options.output or options.model or default_output(options.data)
    check_writable(output)  # a long fit must not end with the news that its answer has nowhere to go
    if options.report:
        check_writable(options.report)
        from widemargin.report import write_report
    data = read_training(options, screen)
    model, y = prepared_machine(options, data, verbose=0 if screen.quiet else 2)
    screen.say(f"{_name(options.data)}: {described(data, y, options.machine)}")
    with screen.compiling():
        seconds, notes = fit(model, data.X, y)
    model.set_params(verbose=False)  # it was for this fit
    model.preparation_ = data.preparation
    save(model, output)
    if not screen.as_json:
        screen.console.print(certificate_table(model.certificate_))
    for note in notes:
        screen.note(note)
    screen.say(f"trained in {seconds:.2f} s, saved as {output}")
    if options.report:
        write_report(model, data.X, y, options.report)
        screen.say(f"report written to {options.report}")
    screen.finish(
        command="train",
        data=options.data,
        model=output,
        samples=len(data),
        features=None if isinstance(data.X, list) else data.X.shape[1],
        seconds=seconds,
        certificate=certificate_facts(model.certificate_),
    )
    return FINE if model.certificate_.holds else NOT_CERTIFIED


def prepared_machine(options: SimpleNamespace, data: Data, *, verbose: bool | int) -> tuple[Any, Any]:
    """The unfitted machine for some data, and its targets (None for one-class)."""
    import numpy as np

    model = make_machine(options, verbose=verbose)
    if options.machine == "oneclass":
        return model, None
    y = targets_for(model, data, options.data)
    if is_classifier(options.machine):
        set_class_weight(model, options, np.unique(y))
    return model, y


def fit(model: Any, X: Any, y: Any) -> tuple[float, list[str]]:
    """Fit; seconds, and what the fit warned of beside an early end, whose sentence is the status of the certificate."""
    from sklearn.exceptions import ConvergenceWarning

    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X) if y is None else model.fit(X, y)
    notes = [str(warning.message) for warning in caught if not issubclass(warning.category, ConvergenceWarning)]
    return time.perf_counter() - began, notes


def default_output(data: str) -> str:
    """Where the model goes if nothing is said: the data's name, unpacked, in the current folder, as LIBSVM does.

    Examples
    --------
    >>> default_output("sets/a9a.xz"), default_output("-")
    ('a9a.model', 'widemargin.model')
    """
    from widemargin.io.raw_bytes import without_compression

    return "widemargin.model" if data == "-" else without_compression(data).name + ".model"


def described(data: Data, y: Any, machine: str) -> str:
    """The data in a few words."""
    import numpy as np

    if isinstance(data.X, list):
        words = f"{plural(len(data), 'string')} of {min(map(len, data.X)):,} to {max(map(len, data.X)):,} letters"
    else:
        words = f"{plural(len(data), 'sample')}, {plural(data.X.shape[1], 'feature')}"
    if is_classifier(machine):
        values, counts = np.unique(y, return_counts=True)
        shown = ", ".join(f"{value}: {count:,}" for value, count in zip(values[:6], counts))
        words += f", {plural(len(values), 'class', 'classes')} ({shown}{', ...' if len(values) > 6 else ''})"
    return words


def _name(data: str) -> str:
    return "standard input" if data == "-" else Path(data).name
