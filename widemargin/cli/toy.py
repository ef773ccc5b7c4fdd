"""`widemargin toy`: the SVM toy in the browser, served on this computer alone until Ctrl-C."""

from __future__ import annotations

import threading
import webbrowser
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from widemargin.cli.command import FINE, new_command, option
from widemargin.cli.options import Whole
from widemargin.cli.paths import FILE
from widemargin.cli.screen import Screen
from widemargin.storage.errors import FileError

LARGEST_TABLE = 5_000_000  # bytes; the page shows 300 rows of a table


@new_command("toy")
@click.argument("data", type=FILE, required=False)
@option("--columns", nargs=2, metavar="X Y", help="The two columns to show, by name.  [chosen in the page]")
@option("--target", metavar="COLUMN", help="Column of the classes, eight at most.")
@option("--scale", type=click.Choice(["none", "standard"]), default="standard",
        help="Bring both columns to mean 0 and deviation 1.  [standard]")  # fmt: skip
@option("--port", type=Whole(0), default="0", metavar="N", help="Port on 127.0.0.1.  [any that is free]")
@option("--no-browser", is_flag=True, help="Print the address, but do not open it.")
def command(options: SimpleNamespace, screen: Screen) -> int:
    """Open a page to play with: points, machines, and solvers step by step. Ctrl-C ends it.

    DATA is a table, CSV or TSV, of which two columns are shown. The page is served on 127.0.0.1 alone, at an address
    that nobody can guess, and loads nothing from anywhere.

    Examples
    --------
    widemargin toy
        Begin with two moons.
    widemargin toy iris.csv --columns petal_length petal_width --target species
        Two columns of a table, coloured by a third.
    """
    from widemargin.playground.server import ToyServer

    values = {"table": _table(options)} if options.data else {}
    if options.port > 65535:
        raise click.UsageError(f"There is no port {options.port}: the largest is 65535")
    try:
        server = ToyServer(values, options.port)
    except OSError as error:
        raise FileError(f"Port {options.port} cannot be used ({error.strerror}): choose another one.") from error
    with server, suppress(KeyboardInterrupt):  # from here on Ctrl-C is the end that is meant
        screen.say(f"{server.address}  (Ctrl-C ends it)")
        screen.finish(command="toy", address=server.address, port=server.server_port)
        if not options.no_browser:  # browsers in a terminal end before `open` returns, and need the page before
            threading.Thread(target=_open, args=[server.address], daemon=True).start()
        server.serve_forever()
    return FINE


def _open(address: str) -> None:
    """Open a page in the browser, if there is one; its address has been printed."""
    with suppress(webbrowser.Error):
        webbrowser.open(address)


def _table(options: SimpleNamespace) -> dict[str, Any]:
    """The text of a table for the page, which reads it, and the columns to show."""
    path = Path(options.data)
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_TABLE + 1)
    except OSError as error:
        raise FileError(f"{options.data} cannot be read: {error.strerror}.") from error
    if len(text) > LARGEST_TABLE:
        raise FileError(
            f"{options.data} is larger than {LARGEST_TABLE:,} bytes; the toy shows 300 rows: pass a part of it."
        )
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(f"{options.data} is not a text in UTF-8: the toy shows CSV and TSV files.") from None
    x, y = options.columns or (None, None)
    return {
        "name": path.name,
        "text": decoded,
        "x": x,
        "y": y,
        "label": options.target,
        "standardise": options.scale == "standard",
    }
