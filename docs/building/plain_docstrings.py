"""Our docstrings are plain text in numpydoc's sections; here they become reStructuredText.

What stands between backticks is code (conf.py: default_role). Of the rest, the signs that markup would take for its own
are escaped (|w|^2, a * b, xi_), and an indented paragraph, which is a formula or a layout, is shown as it is.
Only members that the package itself defines are documented: scikit-learn's reference has the others.
"""

from __future__ import annotations

import re
from typing import Any

CODE = re.compile(r"(``[^`]+``|`[^`]+`)")
ROLE = re.compile(r":\w+:`([^`<]*?)(?: <[^`]*>)?`")  # of a docstring that is scikit-learn's, as that of l1_min_c


def escaped(text: str) -> str:
    """A line of prose without markup other than backticks."""
    parts = CODE.split(ROLE.sub(r"\1", text))
    for at in range(0, len(parts), 2):
        parts[at] = re.sub(r"([|*\\])|(?<=\w)(_)(?!\w)", r"\\\1\2", parts[at])
    return "".join(parts)


def as_markup(lines: list[str]) -> list[str]:
    """The lines of a docstring, marked up."""
    result: list[str] = []
    section, in_example, depth = "", False, 0
    for at, line in enumerate(lines):
        following = lines[at + 1] if at + 1 < len(lines) else ""
        if following.startswith("---") and line.strip():
            section, depth = line.strip(), 0
        text, indent = line.lstrip(), len(line) - len(line.lstrip())
        if text.startswith(">>>"):
            in_example = True
        elif not text:
            in_example = False
        if in_example or not text or line.startswith("---") or section == "Examples" and not text[0].isalpha():
            result.append(line)
            continue
        in_fields = section in ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Other Parameters")
        if in_fields and indent == 0:
            name, colon, rest = line.partition(" : ")
            result.append(name + colon + escaped(rest) if colon else line)
            continue
        base = 4 if in_fields else 0
        if indent > base and (not lines[at - 1].strip() or depth):
            if not depth:
                result += [" " * base + "::", ""]
            depth = indent
            result.append(line)
            continue
        depth = 0
        result.append(" " * indent + escaped(text))
    return result


def on_docstring(app: Any, what: str, name: str, owner: Any, options: Any, lines: list[str]) -> None:
    lines[:] = as_markup(lines)


def on_skip(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what the package does not define itself."""
    home = getattr(getattr(member, "fget", member), "__module__", None)
    if home is not None and not str(home).startswith("widemargin"):
        return True
    return True if name.endswith("_request") else None


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", on_docstring, priority=400)  # numpydoc's comes at 500
    app.connect("autodoc-skip-member", on_skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
