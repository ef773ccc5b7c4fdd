"""Beside each page its text as Markdown: tour.html has tour.md, for whoever reads without a browser.

Pages that were written in Markdown are copied with the links of the site; the reference and the gallery become
Markdown from docstrings and scripts. llms.txt at the top lists them (llms_txt.py writes it).
"""

from __future__ import annotations

import inspect
import re
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

from llms_txt import PACKAGED
from notebook_pages import NOTEBOOKS, SUFFIX, as_markdown
from repository_links import DOCS, within_site

INCLUDE = re.compile(r"```\{include\} (\S+)\n.*?```", re.S)
PICTURE = re.compile(r"(\]\((?:\.\./)*)images/")  # the site has all pictures in one folder
SHOWN = re.compile(r"\]\((?:\.\./)*_images/([^)/]+)\)")
SCRIPTS = {path.stem: path for path in (DOCS.parent / "examples" / "gallery").rglob("plot_*.py")}
TOCTREE = re.compile(r"\n*```\{toctree\}.*?```\n*", re.S)


def of_page(path: Path) -> str:
    """A page of Markdown, included files in their place."""
    text = path.read_text(encoding="utf-8")

    def included(found: re.Match[str]) -> str:
        source = (path.parent / found[1]).resolve()
        return within_site(source.read_text(encoding="utf-8"), source.parent, path.parent)

    return within_site(INCLUDE.sub(included, TOCTREE.sub("\n", text)), path.parent, path.parent)


def of_object(name: str) -> str:
    """A public name: signature and docstring, methods after it."""
    module, _, attribute = name.rpartition(".")
    found = getattr(import_module(module), attribute)
    parts = [f"# {name}\n", block(signature(attribute, found), inspect.getdoc(found))]
    if inspect.isclass(found):
        for key, member in inspect.getmembers(found):
            own = str(getattr(getattr(member, "fget", member), "__module__", "")).startswith("widemargin")
            if own and not key.startswith("_") and not key.endswith("_request") and inspect.getdoc(member):
                parts.append(block(signature(key, member), inspect.getdoc(member)))
    return "\n".join(parts)


def signature(name: str, found: Any) -> str:
    """Name and parameters, without types."""
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return name
    return f"{name}({', '.join(str(each.replace(annotation=each.empty)) for each in parameters)})"


def block(head: str, text: str | None) -> str:
    return f"```text\n{head}\n\n{text or ''}\n```\n"


def of_example(script: Path) -> str:
    """A script of the gallery: its comments as text, its code in blocks."""
    text = script.read_text(encoding="utf-8")
    head, _, body = text.removeprefix('"""').partition('"""')
    title, _, intro = head.strip().partition("\n")
    parts = [f"# {title}", intro.lstrip("=\n").replace("``", "`").strip()]
    for piece in re.split(r"^(?=# %%)", body, flags=re.M):
        comment = re.match(r"# %%.*\n((?:#.*\n)*)", piece)
        if comment:
            parts.append(re.sub(r"^# ?", "", comment[1], flags=re.M).replace("``", "`").strip())
            piece = piece[comment.end() :]
        if piece.strip():
            parts.append(f"```python\n{piece.strip()}\n```")
    return "\n\n".join(part for part in parts if part) + "\n"


def on_finished(app: Any, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    for page in app.env.found_docs:
        text = twin(app, page)
        if text:
            target = Path(app.outdir) / f"{page}.md"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
            copy_pictures(text, Path(app.outdir))
    shutil.copyfile(PACKAGED, Path(app.outdir) / "llms.txt")


def copy_pictures(text: str, out: Path) -> None:
    """Copy pictures that only the Markdown shows, such as those of the README."""
    for name in SHOWN.findall(text):
        if not (out / "_images" / name).exists():
            shutil.copyfile(DOCS / "images" / name, out / "_images" / name)


def twin(app: Any, page: str) -> str:
    """The text beside a page, empty if it has none."""
    path = Path(app.env.doc2path(page))
    if page == app.config.root_doc:  # the first page is laid out for a browser, and says what the README says
        text = within_site((DOCS.parent / "README.md").read_text(encoding="utf-8"), DOCS.parent, DOCS)
    elif path.suffix == ".md":
        text = of_page(path)
    elif path.suffix == SUFFIX:
        text = as_markdown(NOTEBOOKS / f"{path.stem}.ipynb", with_download=False)
    elif page.startswith("api/generated/"):
        return of_object(page.removeprefix("api/generated/"))
    elif path.stem in SCRIPTS:
        return of_example(SCRIPTS[path.stem])
    else:
        return ""
    return PICTURE.sub(r"\1_images/", text.replace(f"{SUFFIX})", ".md)"))


def offer(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """The link to the twin at the side of a page."""
    has_one = page in app.env.found_docs and twin(app, page)
    context["markdown_twin"] = f"{page.rsplit('/', 1)[-1]}.md" if has_one else ""


def setup(app: Any) -> dict[str, bool]:
    app.connect("build-finished", on_finished)
    app.connect("html-page-context", offer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
