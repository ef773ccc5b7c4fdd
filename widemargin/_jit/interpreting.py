"""How long functions are interpreted before they are compiled: a budget of each process, and one of all together.

To interpret costs a little each time, to compile much once. Whoever pays the small price until it adds up to the large
one, and then the large one, never pays more than twice what a prophet would (the ski-rental problem: Karlin, Manasse,
Rudolph & Sleator 1988, Algorithmica 3). Processes add up what they spent in a file among the compiled functions, whose
size counts tenths of seconds: appending is atomic, and nothing has to be parsed.
"""

from __future__ import annotations

import atexit
import os
import re
from contextlib import suppress
from math import inf
from pathlib import Path

from widemargin._jit.cache_folder import folder_of
from widemargin._jit.disk_cache import package_digest

OWN_SECONDS = 1.5  # CPU seconds of a process: one that interprets longer fits often
ALL_SECONDS = 5.0  # of all processes: what compiling takes
UNIT = 0.1  # seconds per byte of the file
NAME = "widemargin-interpreted-"  # of the file, with the digest of the version


class Interpreting:
    """The seconds that this process has spent interpreting, and earlier ones before it."""

    def __init__(self) -> None:
        self.own = self.before = 0.0
        self.file: Path | None = None
        self.is_open = False

    def is_affordable(self) -> bool:
        """Whether another function may be interpreted."""
        if not self.is_open:
            self.open(folder_of(__file__))
        return self.own < OWN_SECONDS and self.before + self.own < ALL_SECONDS

    def open(self, folder: Path | None) -> None:
        """Read what earlier processes spent, and add this one's share at its end."""
        self.is_open = True
        if folder is None:
            return
        self.file = folder / f"{NAME}{package_digest()}"
        with suppress(OSError):
            self.before = UNIT * self.file.stat().st_size
        atexit.register(self.close)

    def close(self) -> None:
        """Add what this process spent to the file, and remove those of earlier versions."""
        if self.file is None or not UNIT <= self.own < inf:  # infinite: this process has compiled
            return
        with suppress(OSError):
            for other in self.file.parent.glob(f"{NAME}*"):
                if other != self.file and re.fullmatch("[0-9a-f]{32}", other.name.removeprefix(NAME)):
                    other.unlink()
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            with open(os.open(self.file, flags, 0o644), "wb") as file:
                file.write(b"." * round(self.own / UNIT))
