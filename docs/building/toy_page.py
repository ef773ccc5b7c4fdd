"""The SVM toy as a page of the site: `python -m widemargin.playground` writes it, the page about it has a button.

The toy is one file that loads nothing, so that it works from a file as well. docs/toy.md has a comment where the button
goes: readers of the Markdown have no such page to go to.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

NAME = "svm-toy.html"
PLACE = "<!-- On the site: a button that opens the toy. -->"
BUTTON = f"```{{button-link}} {NAME}\n:color: primary\nOpen the toy\n```"


def write(folder: Path) -> None:
    """Write the toy into a folder, as users do."""
    subprocess.run([sys.executable, "-m", "widemargin.playground", str(folder / NAME)], check=True)


def on_source_read(app: Any, name: str, source: list[str]) -> None:
    if name == "toy":
        if PLACE not in source[0]:
            raise ValueError(f"docs/toy.md has no place for the button: {PLACE}")
        source[0] = source[0].replace(PLACE, BUTTON)


def on_finished(app: Any, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        write(Path(app.outdir))


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", on_source_read)
    app.connect("build-finished", on_finished)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
