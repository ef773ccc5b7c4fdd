"""`widemargin train`: read, fit, certify, save. Ctrl-C keeps the best model so far."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import click

from widemargin.cli.command import FINE, INTERRUPTED, NOT_CERTIFIED, new_command, option
from widemargin.cli.options import Whole, data_options, machine_options
from widemargin.cli.paths import FILE, OUTPUT, check_paths, one_output
from widemargin.cli.screen import Screen, certificate_facts, certificate_table

NO_SCALE = (
    "The scale of the errors (-b 1), from further fits on parts of the samples, is not known: predict without -b 1."
)


@new_command("train")
@click.argument("data", type=FILE, metavar="FILE")
@click.argument("model", type=OUTPUT, metavar="[MODEL]", required=False)
@option("-o", "--output", type=OUTPUT, metavar="MODEL", help="Where to save.  [FILE's name + .model, here]")
@option("--report", type=OUTPUT, metavar="HTML", help="Write a page about the model, as `widemargin report` does.")
@option("-v", "--folds", type=Whole(2), metavar="N", help="Cross-validate in N parts instead of training.")
@option(
    "--checkpoint",
    type=FILE,
    metavar="FOLDER",
    help="Keep the multipliers there while training; the same command goes on from them.",
)
@machine_options
@data_options
def command(options: SimpleNamespace, screen: Screen) -> int:
    """Train a model on FILE, certify it and save it as MODEL.

    Letters, numbers and defaults are those of LIBSVM's svm-train. Ctrl-C and SIGTERM keep the best model so far: it
    is certified and saved like any other.

    Examples
    --------
    widemargin train a9a
        Gaussian kernel, C = 1, gamma = 1/features; writes a9a.model.
    widemargin train a9a -c 10 -g 0.05 -o income.model
        As `svm-train -c 10 -g 0.05 a9a income.model`.
    widemargin train a9a -t linear -c inf
        Hard margin.
    widemargin train a9a -w1 3
        Errors on class 1 cost three times as much.
    widemargin train people.csv --target income --scale standard
        A table; texts become 0/1 columns, numbers are scaled.
    widemargin train higgs --checkpoint higgs.parts
        A long fit: after a crash the same command goes on from at most 30 s before.
    widemargin train -s svr -p 0.01 housing.xz
        Regression.
    widemargin train -s oneclass -n 0.05 normal
        What is usual?
    widemargin train promoters.fa -t spectrum -d 4
        Strings, compared by their substrings of length 4.
    """
    if options.folds is not None:
        if options.checkpoint is not None:
            raise click.UsageError("--checkpoint is for training, and -v trains no model: leave one of them out.")
        from widemargin.cli.cv import cross_validate

        return cross_validate(options, screen, as_libsvm=True)
    from widemargin.cli.advice import looks_like_regression, remarks
    from widemargin.cli.cv import scale_of_errors
    from widemargin.cli.data import described, read_training
    from widemargin.cli.machines import fit, is_classifier, prepared_machine
    from widemargin.io.model_file import save
    from widemargin.io.raw_bytes import shown_name
    from widemargin.monitor.status import Status

    output = one_output(options.model, options.output) or default_output(options.data)
    check_paths([options.data], [output, options.report])  # the default is none of the options
    if options.report:
        from widemargin.report import write_report
    data = read_training(options, screen)
    model, y = prepared_machine(options, data, verbose=0 if screen.quiet else 2, on_interrupt="keep")
    screen.say(f"{shown_name(Path(options.data).name)}: {described(data, y, is_classifier(options.machine))}")
    if suspicion := looks_like_regression(model, y):
        screen.note(suspicion)  # before a fit that may take long
    seconds, notes = fit(model, data.X, y)
    model.set_params(verbose=False, on_interrupt="auto", checkpoint=None)  # set for this fit only
    model.preparation_ = data.preparation
    interrupted = False
    try:
        if options.probability and options.machine in ("svr", "nusvr"):
            if model.status_ is not Status.INTERRUPTED and len(data) > 1:
                model.probA_ = scale_of_errors(model, data.X, y)
            else:
                notes.append(NO_SCALE)
    except KeyboardInterrupt:
        interrupted = True
        notes.append(NO_SCALE)
    finally:
        save(model, output)  # once, as a pipe takes it
    if not screen.as_json:
        screen.console.print(certificate_table(model.certificate_))
    for note in notes:
        screen.note(note)
    screen.say(f"trained in {seconds:.2f} s, saved as {output}")
    unseen = screen.quiet and not screen.as_json
    lines, remarked = ([], {}) if unseen else remarks(model, data, y, options)
    for line in lines:
        screen.say(line)
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
        **remarked,
    )
    if interrupted:
        return INTERRUPTED
    return FINE if model.certificate_.holds else NOT_CERTIFIED


def default_output(data: str) -> str:
    """Return the default path of the model: the data's name, unpacked, in the current folder, as LIBSVM does.

    Examples
    --------
    >>> default_output("sets/a9a.xz"), default_output("-")
    ('a9a.model', 'widemargin.model')
    """
    from widemargin.io.raw_bytes import without_compression

    return "widemargin.model" if data == "-" else without_compression(data).name + ".model"
