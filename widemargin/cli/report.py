"""`widemargin report`: one self-contained HTML page about a model."""

from __future__ import annotations

from types import SimpleNamespace

from widemargin.cli.command import FINE, new_command, option
from widemargin.cli.options import model_and_data
from widemargin.cli.paths import OUTPUT
from widemargin.cli.screen import Screen


@new_command("report")
@option("-o", "--output", type=OUTPUT, default="report.html", metavar="HTML", help="File to write.  [report.html]")
@model_and_data
def command(options: SimpleNamespace, screen: Screen) -> int:
    """Write one HTML page about a saved MODEL and how it does on DATA.

    Examples
    --------
    widemargin report a9a.model a9a.t -o a9a.html
        What was trained, how well, on which examples it fails.
    """
    from widemargin.cli.models import open_with_data
    from widemargin.report import write_report

    model, data, y = open_with_data(options, screen)
    write_report(model, data.X, y, options.output)
    screen.say(f"{options.output} written")
    screen.finish(command="report", model=options.model, data=options.data, output=options.output)
    return FINE
