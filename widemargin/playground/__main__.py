"""`python -m widemargin.playground OUT.html`: the SVM toy as one page that works from a file, for the documentation."""

from __future__ import annotations

import sys
from pathlib import Path

from widemargin.playground.page import write_page


def main(arguments: list[str]) -> int:
    """Write the page; return the exit code."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: python -m widemargin.playground OUT.html", file=sys.stderr)
        return 2
    Path(arguments[0]).write_text(write_page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
