"""The output of commands: text and tables for people on the error stream, or one JSON object for programs.

Results that are the purpose of a command (answers, a scaled file, a certificate) go to standard output; the rest goes
to the error stream, where it does not mix with them. With --json there is nothing on standard output but the object.
"""

from __future__ import annotations

import io
import json
import logging
import math
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from widemargin.monitor.printable import printable
from widemargin.monitor.progress import SECONDS_PER_LINE
from widemargin.storage.atomic import replacing

if TYPE_CHECKING:
    from rich.table import Table

    from widemargin.certificate import Certificate

LAYOUT = "\n\t"  # control characters that may be part of a message
PATIENCE = 1.0  # seconds after which unfinished work shows its progress


class Screen:
    """The two streams of a command, with --quiet and --json applied."""

    def __init__(self, *, quiet: bool, as_json: bool) -> None:
        from rich.console import Console

        self.quiet, self.as_json = quiet, as_json
        logging.getLogger("widemargin").setLevel(logging.ERROR if quiet else logging.NOTSET)
        self.notes: list[str] = []
        self.console = Console(stderr=True, quiet=quiet, highlight=False, soft_wrap=True)
        self.results = Console(quiet=quiet or as_json, highlight=False)

    @property
    def draws(self) -> bool:
        """Whether a bar can be drawn."""
        return not self.quiet and self.console.is_terminal

    def say(self, words: str, style: str | None = None) -> None:
        """Write a line for people; with --json nothing."""
        if not self.as_json:
            self.console.print(printable(words, LAYOUT), style=style, markup=False)

    def note(self, words: str) -> None:
        """Report something that does not end the command; in JSON it is under "notes"."""
        self.notes.append(words)
        self.say(words, style="yellow")

    def show(self, table: Table | str) -> None:
        """Write a result for people to standard output."""
        if isinstance(table, str):
            self.results.print(printable(table, LAYOUT), soft_wrap=True, markup=False)
        else:
            self.results.print(table)

    def finish(self, **facts: Any) -> None:
        """Write the JSON object."""
        if self.as_json:
            if self.notes:
                facts["notes"] = self.notes
            sys.stdout.write(json.dumps(plain(facts), indent=2, allow_nan=False) + "\n")
            sys.stdout.flush()

    @contextmanager
    def waiting(self, label: str) -> Iterator[None]:
        """Context for work of unknown length: once it takes long, a clock on a terminal or one line in a log."""
        with self.progress(label, None) as steps:
            timer = threading.Timer(PATIENCE, steps.reach, [0.0])
            timer.daemon = True
            timer.start()
            try:
                yield
            finally:
                timer.cancel()
                timer.join()

    def progress(self, label: str, total: float | None) -> closing[Steps]:
        """Steps towards a total: a bar with the time left on a terminal, plain lines in a log, nothing if quiet."""
        return closing(Steps(self, label, total))


class Steps:
    """Progress of work, with its share where the total is known; shown once the work takes longer than PATIENCE."""

    def __init__(self, screen: Screen, label: str, total: float | None) -> None:
        from rich.progress import Progress, TimeElapsedColumn

        self.screen, self.label, self.total = screen, label, total
        self.done = 0.0
        self.began = time.monotonic()
        self.next_line = PATIENCE
        self._bar = Progress(
            *Progress.get_default_columns(), TimeElapsedColumn(), console=screen.console, transient=True
        )
        self._task = self._bar.add_task(_as_markup(label), total=total)

    def advance(self, amount: float = 1.0, label: str | None = None) -> None:
        """Report further progress, and the current item."""
        self.reach(self.done + amount, label)

    def reach(self, done: float, label: str | None = None) -> None:
        """Report how much is done."""
        self.done, self.label = done, label or self.label
        elapsed = time.monotonic() - self.began
        if self.screen.quiet or elapsed < PATIENCE:
            return
        if self.screen.draws:
            self._bar.update(self._task, completed=done, description=_as_markup(self.label))
            self._bar.start()
        elif elapsed >= self.next_line:
            self.next_line = elapsed + SECONDS_PER_LINE
            rest = (
                f", about {elapsed * (self.total - done) / done:.0f} s left"
                if self.total and 0 < done < self.total
                else ""
            )
            share = f"{done / self.total:4.0%}  {elapsed:.0f} s{rest}" if self.total else "..."
            self.screen.console.print(printable(f"{self.label} {share}"), markup=False)

    def close(self) -> None:
        """Release the terminal."""
        if self._bar.live.is_started:
            self._bar.stop()


@contextmanager
def compilations() -> Iterator[Any]:
    """Context that counts functions compiled by Numba, not those loaded from disk."""
    from numba.core import event

    class Counter(event.Listener):
        count = 0

        def on_start(self, happening: Any) -> None:
            self.count += 1

        def on_end(self, happening: Any) -> None:
            """Do nothing; the base class requires this method."""

    with event.install_listener("numba:compile", Counter()) as counter:
        yield counter


@contextmanager
def open_output(path: str | None) -> Iterator[TextIO]:
    """A stream to a file, or to standard output for None and "-"."""
    if path in (None, "-"):
        yield sys.stdout
        sys.stdout.flush()
        return
    with replacing(Path(str(path))) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8")
        yield text
        text.detach()  # flushed, and not closed


def plain(value: Any) -> Any:
    """A value in the types of JSON; numbers that JSON does not have become null or words.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"a": np.float64("nan"), "b": np.arange(2), "c": float("inf")})
    {'a': None, 'b': [0, 1], 'c': 'Infinity'}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def certificate_facts(certificate: Certificate) -> dict[str, Any]:
    """Return a certificate as a dict for JSON."""
    names = ("holds", "violation", "tol", "criterion", "gap", "primal", "dual", "infeasibility", "n_support", "n_free")
    facts = {name: getattr(certificate, name) for name in (*names, "iterations", "rows_computed", "seconds")}
    facts["status"] = certificate.status.name if certificate.status is not None else None
    return facts


def certificate_table(certificate: Certificate) -> Table:
    """A certificate as a table of two columns; the verdict first, in colour."""
    from rich.text import Text

    verdict, *rest = str(certificate).splitlines()
    table = two_columns()
    name, value = _cut(verdict)
    table.add_row(name, Text(value, style="bold green" if certificate.holds else "bold red"))
    for name, value in map(_cut, rest):
        table.add_row(name, value)
    return table


def two_columns() -> Table:
    """A table of names and values."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_header=False, pad_edge=False, padding=(0, 1))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    return table


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """A count with its noun.

    Examples
    --------
    >>> plural(1, "class", "classes"), plural(1234, "feature")
    ('1 class', '1,234 features')
    """
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def _as_markup(label: str) -> str:
    """A label in rich's notation, in which square brackets of a file's name would be commands."""
    from rich.markup import escape

    return escape(printable(label))


def _cut(line: str) -> tuple[str, str]:
    """Name and value of a line of the printed certificate, which are at least two spaces apart."""
    name, _, value = line.partition("  ")
    return name, value.strip()
