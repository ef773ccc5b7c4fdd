"""Text from files for terminals: control characters are shown, not sent.

A label, a column or a file name may hold anything, also the escape sequences with which a terminal is cleared, coloured
or made to answer. They are written as Python writes them in a string: \\x1b for escape, \\n for the end of a line.
"""

from __future__ import annotations

import re

# C0, DEL and C1; ends of lines and paragraphs; overrides of the direction of writing; bytes that are no text
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str, keep: str = "") -> str:
    """The text on one line, without control characters other than those in `keep`.

    Examples
    --------
    >>> print(printable("\\x1b[31mred\\nblue"))
    \\x1b[31mred\\nblue
    """
    return CONTROL.sub(lambda found: found[0] if found[0] in keep else ascii(found[0])[1:-1], text)
