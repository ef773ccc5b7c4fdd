"""`widemargin report`: one self-contained HTML page about a machine."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import click

from widemargin.cli.command import FINE, new_command, option, said_options
from widemargin.cli.data import FORMAT_OPTION, HEADER_OPTION, read_like, targets_for
from widemargin.cli.parameters import FILE
from widemargin.cli.screen import Screen

EXAMPLES = (("report a9a.model a9a.t -o a9a.html", "What was trained, how well, on which examples it fails."),)


@new_command("report", examples=EXAMPLES)
@click.argument("model", type=FILE)
@click.argument("data", type=FILE)
@option("-o", "--output", type=FILE, default="report.html", metavar="HTML", help="File to write.  [report.html]")
@FORMAT_OPTION
@HEADER_OPTION
@said_options
def command(**given: Any) -> int:
    """Write one HTML page about a saved MODEL and how it does on DATA."""
    return report(SimpleNamespace(**given))


def report(options: SimpleNamespace) -> int:
    """Read, write."""
    from widemargin.cli.models import open_model
    from widemargin.storage.archive import check_writable

    screen = Screen(quiet=options.quiet, as_json=options.as_json)
    check_writable(options.output)
    from widemargin.report import write_report

    model = open_model(options.model)
    data = read_like(options.data, model, options, screen)
    y = None if hasattr(model, "offset_") else targets_for(model, data, options.data)
    write_report(model, data.X, y, options.output)
    screen.say(f"{options.output} written")
    screen.finish(command="report", model=options.model, data=options.data, output=options.output)
    return FINE
