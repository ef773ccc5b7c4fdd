"""llms.txt: what this is, and one line about each page, public name and example, for a reader that is a program.

    python docs/building/llms_txt.py    writes docs/llms.txt

It is part of the site and, with the pages of docs/, of the wheel (widemargin/docs/llms.txt). A test compares.
See https://llmstxt.org for the format.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

DOCS = Path(__file__).parents[1]
PACKAGED = DOCS / "llms.txt"
GALLERY = DOCS.parent / "examples" / "gallery"
MODULES = ("", ".model_selection", ".kernels", ".calibration", ".io", ".plots", ".report", ".solvers.reference")
# Folders of pages, each with its heading; pages of the site alone have no text of their own.
SECTIONS = {".": "Pages", "guide": "User guide: the mathematics", "decisions": "Decisions"}
OF_THE_SITE = {"index.md", "how-to.md", "project.md", "changelog.md", "contributing.md", "security.md"}

HEAD = """# widemargin

> Support vector machines for Python with the API of `sklearn.svm`: same names, parameters and attributes, trained
> faster. Every fit returns a certificate: proven bounds on its distance from the optimum, rounding errors counted.

Use it as scikit-learn: `from widemargin import SVC` for `from sklearn.svm import SVC`; `SVCCV` finds C and gamma;
`model.certificate_.holds` says whether the fit is proven to meet `tol`; `widemargin.verify(model, X, y)` proves the
same about a fitted scikit-learn model. Scale the features first. Each docstring has an example: `help(widemargin.SVC)`.
"""


def sentence(text: str) -> str:
    """The first sentence of a paragraph, without markup."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(text.split()))
    return re.split(r"(?<=[.:!?])\s", re.sub(r"^\*\*[^*]*\*\*", "", text).strip(), maxsplit=1)[0].rstrip(":")


def title_and_summary(path: Path) -> tuple[str, str]:
    """The heading of a page and the first sentence of its first paragraph of prose."""
    title, *rest = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.S).strip().split("\n\n")
    prose = (sentence(part) for part in rest if part[:1].isalpha() or part[:1] in "`[*\"'(")
    return title.splitlines()[0].lstrip("# "), next((text for text in prose if text), "")


def of_examples() -> Iterator[str]:
    for path in sorted(GALLERY.rglob("plot_*.py")):
        title = path.read_text(encoding="utf-8").removeprefix('"""').strip().splitlines()[0]
        yield f"- {title}: `{path.relative_to(GALLERY).as_posix()}`"


def of_names() -> Iterator[str]:
    for suffix in MODULES:
        module = import_module(f"widemargin{suffix}")
        for name in sorted(set(module.__all__) - {"__version__"}, key=str.lower):
            found = getattr(module, name)
            if inspect.isclass(found) or inspect.isfunction(found):
                first = (inspect.getdoc(found) or "").split("\n\n")[0]
                yield f"- `widemargin{suffix}.{name}`: {sentence(first)}"


def text() -> str:
    """The whole file."""
    parts = [HEAD]
    for folder, heading in SECTIONS.items():
        lines = []
        for path in sorted((DOCS / folder).glob("*.md")):
            if path.name not in OF_THE_SITE or folder != ".":
                title, summary = title_and_summary(path)
                lines.append(f"- [{title}]({path.relative_to(DOCS).as_posix()})" + (f": {summary}" if summary else ""))
        if lines:
            parts.append(f"## {heading}\n\n" + "\n".join(lines) + "\n")
    parts.append("## Examples (examples/gallery in the source distribution)\n\n" + "\n".join(of_examples()) + "\n")
    parts.append("## Public names\n\n" + "\n".join(of_names()) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PACKAGED.write_text(text(), encoding="utf-8")
    print(f"wrote {PACKAGED.name}, {PACKAGED.stat().st_size} bytes")
