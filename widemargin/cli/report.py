"""What the commands show: certificates as small tables, counts with their nouns."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from widemargin.certificate import Certificate


def certificate_table(certificate: Certificate) -> Table:
    """A certificate as a table of two columns; the verdict stands first, in colour."""
    verdict, *rest = str(certificate).splitlines()
    table = Table(box=box.SIMPLE_HEAD, show_header=False, pad_edge=False, padding=(0, 1))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    name, value = _cut(verdict)
    table.add_row(name, Text(value, style="bold green" if certificate.holds else "bold red"))
    for name, value in map(_cut, rest):
        if value != "nan":  # not known of a model that was trained elsewhere or loaded from a file
            table.add_row(name, value)
    return table


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """A count with its noun.

    Examples
    --------
    >>> plural(1, "class", "classes"), plural(1234, "feature")
    ('1 class', '1,234 features')
    """
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def _cut(line: str) -> tuple[str, str]:
    """Name and value of a line of the printed certificate, which stand at least two spaces apart."""
    name, _, value = line.partition("  ")
    return name, value.strip()
