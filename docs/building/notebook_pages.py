"""The notebooks of examples/notebooks as pages: their cells to be read, notebook and solutions to be downloaded.

They are written to docs/notebooks/ as Markdown before the pages are read. Cells are not run: half of them are exercises
left open, and the tests run the notebooks with their solutions.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
NOTEBOOKS = DOCS.parent / "examples" / "notebooks"
SUFFIX = ".myst"  # Markdown as well, but no page of docs/ that somebody wrote
DOWNLOAD = (
    "{{download}}`Download this notebook <../../examples/notebooks/{name}.ipynb>` or "
    "{{download}}`its solutions <../../examples/notebooks/solutions/{name}.py>`"
)


def as_markdown(notebook: Path, with_download: bool = True) -> str:
    """The cells one after the other, links to notebook and solutions after the first."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    parts = ["".join(cell["source"]).strip() for cell in cells]
    parts = [part if cell["cell_type"] == "markdown" else f"```python\n{part}\n```" for part, cell in zip(parts, cells)]
    if with_download:
        parts.insert(1, DOWNLOAD.format(name=notebook.stem))
    return "\n\n".join(parts) + "\n"


def write_pages(app: Any) -> None:
    """Write the pages; one that has not changed is not read again."""
    folder = DOCS / "notebooks"
    folder.mkdir(exist_ok=True)
    wanted = {f"{notebook.stem}{SUFFIX}": as_markdown(notebook) for notebook in sorted(NOTEBOOKS.glob("*.ipynb"))}
    for path in folder.glob(f"*{SUFFIX}"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    app.add_source_suffix(SUFFIX, "markdown")
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
