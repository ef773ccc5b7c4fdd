"""Follow every link of the built site: pages, anchors, pictures, scripts; find what a page would load from elsewhere.

    python docs/building/check_links.py docs_out/html

Prints what is broken and ends with code 1 if anything is. Links to other sites are counted and not followed; pictures,
scripts and styles from other sites are errors, since reading a page must send no request.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"img": "src", "script": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src"}
LOADING = {"stylesheet", "icon", "preload", "preconnect", "dns-prefetch", "modulepreload", "prefetch"}
CSS_URL = re.compile(r"url\(\s*['\"]?([^'\")]+)")
MARKDOWN_LINK = re.compile(r"\]\(([^)\s]+)\)")


class Page(HTMLParser):
    """The anchors of a page, what it links to, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag == "link" and LOADING & set(found.get("rel", "").split()):
            self.loads.append(found.get("href", ""))
        if tag in LOADED and found.get(LOADED[tag]):
            self.loads.append(found[LOADED[tag]])
        self.loads += [part.split()[0] for part in found.get("srcset", "").split(",") if part.strip()]
        self.loads += CSS_URL.findall(found.get("style", ""))


def check(folder: Path) -> tuple[list[str], dict[str, int]]:
    """What is wrong, one sentence each, and counts; a file beside the folder is not part of the site."""
    folder = folder.resolve()
    pages = {
        path: Page(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.html"))
        if "_static" not in path.parts
    }
    wrong: list[str] = []
    counts = {"pages": len(pages), "links": 0, "to other sites": 0, "loaded": 0}

    def follow(origin: Path, link: str) -> None:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            counts["to other sites"] += 1
            return
        counts["links"] += 1
        target = (origin.parent / unquote(parts.path)).resolve() if parts.path else origin
        target = target / "index.html" if target.is_dir() else target
        if not target.is_file() or not target.is_relative_to(folder):
            wrong.append(f"{origin.relative_to(folder)}: {link} leads nowhere")
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
            wrong.append(f"{origin.relative_to(folder)}: {link} has no such anchor")

    def load(origin: Path, address: str) -> None:
        counts["loaded"] += 1
        parts = urlsplit(address)
        if parts.scheme == "data":
            return
        if parts.scheme or parts.netloc:
            wrong.append(f"{origin.relative_to(folder)}: loads {address} from elsewhere")
            return
        target = (origin.parent / unquote(parts.path)).resolve()
        if not target.is_file() or not target.is_relative_to(folder):
            wrong.append(f"{origin.relative_to(folder)}: loads {address}, which is not there")

    for path, page in pages.items():
        for link in page.links:
            follow(path, link)
        for address in page.loads:
            load(path, address)
    for path in sorted(folder.rglob("*.css")):
        for address in CSS_URL.findall(path.read_text(encoding="utf-8")):
            if not address.startswith("#"):
                load(path, address)
    for path in [*sorted(folder.rglob("*.md")), folder / "llms.txt"]:
        text = re.sub(r"```.*?```|`[^`]*`", "", path.read_text(encoding="utf-8"), flags=re.S)
        for link in MARKDOWN_LINK.findall(text):
            follow(path, link.split("#")[0] or path.name)
    return wrong, counts


if __name__ == "__main__":
    wrong, counts = check(Path(sys.argv[1]))
    print(*wrong, sep="\n")
    print(", ".join(f"{count} {what}" for what, count in counts.items()) + f"; {len(wrong)} broken")
    sys.exit(bool(wrong))
