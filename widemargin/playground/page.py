"""The front-end in one piece: an HTML page that works from a file, or one module for notebooks.

Browsers refuse to import modules from file:// pages. The modules of front/ use one form of import and export each,

    import { a, b } from "./other.js";        export function a(...)    export const a = ...    export class A

so that they can be put one after the other, each in a function of its own that returns what it exports.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

FRONT = files("widemargin.playground") / "front"
IMPORT = re.compile(r'^import \{([^}]+)\} from "\./(\w+\.js)";\n', re.M)
EXPORT = re.compile(r"^export (?:async )?(?:function\*?|const|class) (\w+)", re.M)
DEFAULT = re.compile(r"^export default .*\n", re.M)

#: What a page may load: nothing but its own script and style. `{connect}` is 'self' where a server answers.
POLICY = (
    "default-src 'none'; script-src 'sha256-{script}'; style-src 'unsafe-inline'; img-src data: blob:; "
    "connect-src {connect}; base-uri 'none'; form-action 'none'"
)

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>SVM toy · widemargin</title>
<link rel="icon" href="data:,">
<style>
body {{ margin: 0 }}
.wm-toy {{ min-height: 100vh; max-width: 1500px; margin: auto }}
:root {{ color-scheme: light dark }}
{style}</style>
</head>
<body>
<main id="wm-toy"><noscript>This page draws with JavaScript, which is switched off here.</noscript></main>
<script type="application/json" id="wm-values">{values}</script>
<script>{script}</script>
</body>
</html>
"""


def read(name: str) -> str:
    """Return a file of the front-end."""
    return (FRONT / name).read_text(encoding="utf-8")


def modules_below(entry: str) -> list[str]:
    """Return a module and those it imports, each after the ones it needs."""
    order: list[str] = []

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise ValueError(f"{' imports '.join([*path, name])}: modules may not import each other in a circle.")
        if name not in order:
            for _, other in IMPORT.findall(read(name)):
                visit(other, (*path, name))
            order.append(name)

    visit(entry, ())
    return order


def in_one(entry: str) -> str:
    """Return the program of all modules, which leaves an object of the modules' exports in `modules`."""
    parts = ["const modules = {};"]
    for name in modules_below(entry):
        source = IMPORT.sub(lambda found: f'const {{{found[1]}}} = modules["{found[2]}"];\n', read(name))
        exports = ", ".join(EXPORT.findall(source))
        source = re.sub(r"^export (?!default)", "", DEFAULT.sub("", source), flags=re.M)
        if re.search(r'^(import .*from "|import "|export )', source, re.M):
            raise ValueError(f"{name} imports or exports in a form that page.py does not know.")
        parts.append(f'modules["{name}"] = (() => {{\n{source}return {{ {exports} }};\n}})();')
    return "\n".join(parts)


@cache
def page_script() -> str:
    """Return the program of a page."""
    return f'"use strict";\n(() => {{\n{in_one("page.js")}\nmodules["page.js"].start(document);\n}})();\n'


def notebook_module() -> str:
    """Return the front-end as one module, with what anywidget expects of it."""
    return f'{in_one("toy.js")}\nexport default {{ render: modules["toy.js"].render }};\n'


def style() -> str:
    """Return the style sheet."""
    return read("toy.css")


def policy(connect: str = "'none'") -> str:
    """Return the Content-Security-Policy of a page, which names its script by its hash."""
    digest = base64.b64encode(hashlib.sha256(page_script().encode()).digest()).decode()
    return POLICY.format(script=digest, connect=connect)


def write_page(values: Mapping[str, Any] | None = None) -> str:
    """Return the whole page as HTML.

    values : what the page begins with: home, points, parameters (front/toy.js)
    """
    given = {"home": "file", "points": [], "parameters": {}} | dict(values or {})
    written = json.dumps(given, allow_nan=False).replace("<", "\\u003c")  # no text can end the script element
    connect = "'self'" if given["home"] == "server" else "'none'"
    shown = html.escape(policy(connect), quote=True)
    return PAGE.format(policy=shown, style=style(), values=written, script=page_script())
