r"""Formulas of the pages as SVG, drawn at build time: no script, no font and no request when a page is read.

ziamath sets LaTeX in STIX Two Math and draws it as paths; `currentColor` makes it follow light and dark. The LaTeX
stays in the page as a label for screen readers. `\tag{...}` becomes the number at the right.
"""

from __future__ import annotations

import html
import re
from functools import cache
from typing import Any
from xml.etree.ElementTree import tostring

import ziamath
from docutils.nodes import SkipNode

FONT_SIZE = 19.0  # pixels; letters as high as those of the text around them
TEXT_SIZE = 16.0  # pixels of one em of the text
TAG = re.compile(r"\\tag\*?\{([^}]*)\}")
# LaTeX that the typesetter does not know, and the same in what it knows.
SAME = {r"\operatorname*": r"\operatorname", r"\begin{align*}": r"\begin{align}", r"\end{align*}": r"\end{align}"}


@cache
def drawn(latex: str, inline: bool) -> str:
    """One formula as an SVG element whose sizes are in em."""
    for unknown, known in SAME.items():
        latex = latex.replace(unknown, known)
    formula = ziamath.Latex(latex.strip(), size=FONT_SIZE, color="currentColor", inline=inline)
    element = formula.svgxml()
    width, height = formula.getsize()
    sizes = {"width": width, "height": height, "vertical-align": formula.getyofst()}
    element.attrib.pop("width", None)
    element.attrib.pop("height", None)
    element.set("role", "img")
    element.set("aria-label", latex.strip())
    element.set("style", ";".join(f"{name}:{size / TEXT_SIZE:.3f}em" for name, size in sizes.items()))
    return tostring(element, encoding="unicode")


def visit_inline(translator: Any, node: Any) -> None:
    translator.body.append(f'<span class="formula">{drawn(node.astext(), True)}</span>')
    raise SkipNode


def visit_display(translator: Any, node: Any) -> None:
    latex = node.astext()
    number = " ".join(f"({text})" for text in TAG.findall(latex)) or (f"({node['number']})" if node["number"] else "")
    translator.body.append(
        f'<div class="formula"><span class="formula-body">{drawn(TAG.sub("", latex), False)}</span>'
        f'<span class="formula-number">{html.escape(number)}</span></div>\n'
    )
    raise SkipNode


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("svg", (visit_inline, None), (visit_display, None))
    app.config.html_math_renderer = "svg"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
