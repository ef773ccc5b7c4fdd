"""`widemargin plot`: a picture of a model and its data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from widemargin.cli.command import FINE, new_command, option
from widemargin.cli.options import Whole, model_and_data
from widemargin.cli.paths import OUTPUT
from widemargin.cli.screen import Screen
from widemargin.storage.atomic import replacing

N_ALONG = {"boundary": 2, "tube": 1}  # features that a picture is drawn along
KINDS = ("auto", "boundary", "tube", "kkt", "kernel", "grid", "reliability", "scaling")


@new_command("plot")
@option("-o", "--output", type=OUTPUT, default="plot.png", metavar="PICTURE",
        help="File to write; .png, .pdf, .svg.  [plot.png]")  # fmt: skip
@option(
    "--kind", type=click.Choice(KINDS), default="auto", help="Which picture.  [tube for regressions, else boundary]"
)
@option("--along", multiple=True, metavar="COLUMN",
        help="Feature to draw along, by its name or place; two for a boundary.  [principal components]")  # fmt: skip
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
    widemargin plot iris.csv.model iris.csv --along petal_length --along petal_width
        The boundary on the plane of two columns, the others at their medians.
    widemargin plot a9a.model a9a --kind reliability
        Probabilities against frequencies, of a model of `tune` by its held-out values.
    """
    from widemargin.cli.models import open_with_data

    write = picture_writer()
    from widemargin.plots import plot

    model, data, y = open_with_data(options, screen)
    along = _along(options, data.X, model)
    write(plot(model, data.X, y, kind=options.kind, **along).figure, options.output, options.dpi)
    screen.say(f"{options.output} written")
    screen.finish(command="plot", model=options.model, data=options.data, output=options.output)
    return FINE


def picture_writer() -> Callable[[Any, str, int], None]:
    """Return the function that saves a figure with so many dots per inch; ImportError without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        raise ImportError("Pictures are drawn by matplotlib: pip install 'widemargin[plots]'.") from None
    matplotlib.use("Agg")  # draw to a file, without a window
    from matplotlib import pyplot

    def write(figure: Any, path: str, dpi: int) -> None:
        with replacing(Path(path)) as stream:
            kind = Path(path).suffix.lstrip(".") or "png"
            figure.savefig(stream, format=kind, dpi=dpi, bbox_inches="tight")
        pyplot.close(figure)  # it would stay in memory where commands are called from Python

    return write


def _along(options: SimpleNamespace, X: Any, model: Any) -> dict[str, Any]:
    """The features to draw along, as the function of the picture takes them."""
    if not options.along:
        return {}
    from sklearn.base import is_regressor

    from widemargin.io.tables import place_of
    from widemargin.plots.reading import column_of, feature_names

    kind = options.kind if options.kind != "auto" else "tube" if is_regressor(model) else "boundary"
    wanted = N_ALONG.get(kind)
    if wanted is None:
        raise click.UsageError(f"A picture of kind {kind} is not drawn along features: leave --along out.")
    if len(options.along) != wanted:
        expected = "two features: --along COLUMN --along COLUMN" if wanted == 2 else "one feature: --along COLUMN"
        raise click.UsageError(f"A picture of kind {kind} is drawn along {expected}.")
    names = feature_names(X, model)
    chosen = []
    for given in options.along:
        place = None if given in names else place_of(given, len(names))
        chosen.append(column_of(given if place is None else place, names))
    return {"features": chosen} if wanted == 2 else {"feature": chosen[0]}
