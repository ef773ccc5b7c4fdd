"""Links of the Markdown pages that leave docs/.

The pages link to CONTRIBUTING.md, CHANGELOG.md and SECURITY.md one folder up, as is right on GitHub; the site has them
as pages of its own, which include those files, and has the notebooks as pages (notebook_pages.py). A link to any other
file of the repository becomes the file's path in the text: the site does not carry the source tree, and its readers may
not have it.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any

from notebook_pages import NOTEBOOKS, SUFFIX

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(((?!https?:|mailto:|#)[^)\s#]+)(#[^)]*)?\)")
IMAGE = re.compile(r"!\[([^\]]*)\]\(((?!https?:)[^)\s]+)\)")


def within_site(text: str, folder: Path, page_folder: Path) -> str:
    """The text of a file in `folder`, with links as they have to be on a page in `page_folder`."""

    def relative(path: Path) -> str:
        up = len(page_folder.relative_to(DOCS).parts)
        return str(PurePosixPath(*[".."] * up, path.relative_to(DOCS).as_posix()))

    def link(found: re.Match[str]) -> str:
        words, target, anchor = found[1], found[2], found[3] or ""
        path = (folder / target).resolve()
        if path.parent == ROOT and path.name in PAGES:
            return f"[{words}]({relative(DOCS / PAGES[path.name])}{anchor})"
        if path.is_relative_to(DOCS) and path.is_file():
            return f"[{words}]({relative(path)}{anchor})"
        if path.parent == NOTEBOOKS and path.exists():
            return f"[{words}]({relative(DOCS / 'notebooks' / path.stem)}{SUFFIX})"
        if path.is_relative_to(ROOT) and path.exists():
            named = path.relative_to(ROOT).as_posix()
            return words if named in words or path.name in words else f"{words} (`{named}`)"
        return found[0]

    def image(found: re.Match[str]) -> str:
        path = (folder / found[2]).resolve()
        return f"![{found[1]}]({relative(path)})" if path.is_relative_to(DOCS) else found[0]

    return IMAGE.sub(image, LINK.sub(link, text))


def on_source_read(app: Any, name: str, source: list[str]) -> None:
    path = Path(app.env.doc2path(name))
    if path.suffix == ".md":
        source[0] = within_site(source[0], path.parent, path.parent)


def on_include_read(app: Any, included: Path, name: str, content: list[str]) -> None:
    folder = (Path(app.srcdir) / included).resolve().parent
    content[0] = within_site(content[0], folder, Path(app.env.doc2path(name)).parent)


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", on_source_read)
    app.connect("include-read", on_include_read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
