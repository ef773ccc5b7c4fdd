"""`widemargin plot`: a picture of a model and its data."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from widemargin.cli.command import FINE, new_command, option
from widemargin.cli.options import Whole, model_and_data
from widemargin.cli.paths import OUTPUT
from widemargin.cli.screen import Screen
from widemargin.storage.atomic import replacing

KINDS = ("auto", "boundary", "tube", "kkt", "kernel", "scaling")


@new_command("plot")
@option("-o", "--output", type=OUTPUT, default="plot.png", metavar="PICTURE",
        help="File to write; .png, .pdf, .svg.  [plot.png]")  # fmt: skip
@option(
    "--kind", type=click.Choice(KINDS), default="auto", help="Which picture.  [tube for regressions, else boundary]"
)
@option("--dpi", type=Whole(10), default="150", metavar="N", help="Dots per inch.  [150]")
@model_and_data
def command(options: SimpleNamespace, screen: Screen) -> int:
    """Draw a picture of a saved MODEL and its DATA. Needs matplotlib: pip install 'widemargin[plots]'.

    Examples
    --------
    widemargin plot moons.model moons -o moons.png
        Boundary, margins and support vectors.
    widemargin plot a9a.model a9a --kind kkt -o a9a.pdf
        Multipliers against positions: the optimality conditions.
    """
    from widemargin.cli.models import open_with_data

    try:
        import matplotlib
    except ImportError:
        raise ImportError("Pictures are drawn by matplotlib: pip install 'widemargin[plots]'.") from None
    matplotlib.use("Agg")  # draw to a file, without a window
    from matplotlib import pyplot

    from widemargin.plots import plot

    model, data, y = open_with_data(options, screen)
    figure: Any = plot(model, data.X, y, kind=options.kind).figure
    with replacing(Path(options.output)) as stream:
        kind = Path(options.output).suffix.lstrip(".") or "png"
        figure.savefig(stream, format=kind, dpi=options.dpi, bbox_inches="tight")
    pyplot.close(figure)  # it would stay in memory where commands are called from Python
    screen.say(f"{options.output} written")
    screen.finish(command="plot", model=options.model, data=options.data, output=options.output)
    return FINE
