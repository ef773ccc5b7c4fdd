"""Every page of the documentation: its code runs as pasted, links lead somewhere, paths in the text exist."""

import re
from importlib.util import find_spec
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest

from widemargin import Status

matplotlib.use("Agg")

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md")) + [
    ROOT / name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
]
TOP = {path.name for path in ROOT.iterdir()} | {path.name for path in (ROOT / "widemargin").iterdir()}


#: Packages that a page shows and the test tools do not include: blocks that import one run where it is installed.
OPTIONAL = ("fastapi", "mlflow", "skops")


def needs_missing(block):
    """Whether a block imports a package of OPTIONAL that is not installed."""
    imported = re.findall(r"^(?:import|from) (\w+)", block, flags=re.M)
    return any(name in OPTIONAL and find_spec(name) is None for name in imported)


def blocks_of(page):
    """The Python of a page, block by block."""
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.S)


def run_page(page):
    """Run the blocks of a page one after the other, as a reader who pastes them does; return their variables."""
    names: dict = {}
    for block in blocks_of(page):
        if needs_missing(block):
            continue
        exec(compile(block, str(page), "exec"), names)
    return names


@pytest.mark.needs_compiler
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.*Any type hint is inferred:UserWarning")  # of MLflow, about its own wrapper
@pytest.mark.filterwarnings("ignore:Using `httpx` with:")  # of FastAPI's test client
@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks_of(page) and page.name != "start.md"], ids=lambda page: page.name
)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    for package in ("onnx", "pandas"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    run_page(page)
    plt.close("all")


@pytest.mark.needs_compiler
def test_the_first_page_leaves_a_model_and_a_report(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run_page(ROOT / "docs" / "start.md")
    assert capsys.readouterr().out.startswith("certificate            holds")
    assert names["best"].certificate_.holds and names["model"].score(names["X_new"], names["y_new"]) > 0.9
    assert {path.name for path in tmp_path.iterdir()} == {"cancer.model", "cancer.html"}
    plt.close("all")


def anchors_of(page):
    """The anchors that GitHub and MyST give to the headings of a page."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    headings = re.findall(r"^#+ (.*)$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for path, anchor in re.findall(r"\]\(([^)#:]*)#?([^):]*)\)", page.read_text(encoding="utf-8")):
        target = page.parent / path if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors_of(target), (path, anchor)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_in_the_text_exist(page):
    """`solvers/block.py` and the like, relative to the repository or to the package."""
    found = re.findall(r"`((?:[a-z_0-9]+/)+[a-z_0-9]*(?:\.py|\.md)?)`", page.read_text(encoding="utf-8"))
    paths = [path for path in found if path.split("/")[0] in TOP]
    assert [path for path in paths if not ((ROOT / path).exists() or (ROOT / "widemargin" / path).exists())] == []


def test_the_page_of_warnings_quotes_every_status():
    """Each row of its table has a status and the beginning of the sentence that the code has."""
    page = (ROOT / "docs" / "why-slow-why-warning.md").read_text(encoding="utf-8")
    quoted = dict(re.findall(r'^\| `([A-Z_]+)` \| "([^"]+)"', page, flags=re.M))
    assert list(quoted) == list(Status.__members__)
    for name, sentence in quoted.items():
        assert sentence in Status[name].value, name
