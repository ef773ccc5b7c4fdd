"""What the site is made of: the reference names everything, the gallery is in order, llms.txt is up to date.

`make docs` builds the site, runs the gallery and follows every link.
"""

import ast
import importlib
import importlib.util
import re
import sys
from pathlib import Path

import pytest

import widemargin

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
EXAMPLES = sorted((ROOT / "examples" / "gallery").rglob("*.py"))


@pytest.fixture
def building(monkeypatch):
    """Import a step of the site's build by its name."""
    monkeypatch.syspath_prepend(str(DOCS / "building"))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if name.partition(".")[0] != "widemargin":
            del sys.modules[name]


def listed_names():
    """The names of docs/api/index.rst with their modules."""
    names, module = [], ""
    for line in (DOCS / "api" / "index.rst").read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif re.fullmatch(r"   \w+", line):
            names.append(f"{module}.{line.strip()}")
    return names


def test_the_reference_lists_every_public_name_once():
    modules = ("widemargin", *(f"widemargin.{name}" for name in widemargin._PUBLIC_MODULES))
    expected = {}
    for module in (*modules, "widemargin.solvers.reference"):
        for name in set(getattr(importlib.import_module(module), "__all__", ())) - {"__version__"}:
            expected.setdefault(name, f"{module}.{name}")  # SVCCV is in two modules; the first is its home
    assert sorted(listed_names()) == sorted(expected.values())


def test_every_page_is_in_a_list_of_pages():
    """A page that no toctree names is not found by readers; the build would fail, but only `make docs` would tell."""
    lists = [path for path in DOCS.rglob("*.md") if "{toctree}" in path.read_text(encoding="utf-8")]
    named = set()
    for path in lists:
        for block in re.findall(r"```\{toctree\}\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.S):
            for line in (line for line in block.splitlines() if line and not line.startswith(":")):
                entry = re.sub(r".*<(.*)>", r"\1", line)
                named |= {found.resolve() for found in path.parent.glob(f"{entry}.md")}
    pages = {path.resolve() for path in DOCS.rglob("*.md")} - {DOCS / "index.md"}
    assert sorted(path.name for path in pages - named) == []


def test_llms_txt_is_up_to_date(building):
    llms_txt = building("llms_txt")
    written = llms_txt.PACKAGED.read_text(encoding="utf-8")
    assert written == llms_txt.text(), "run python docs/building/llms_txt.py"
    for link in re.findall(r"\]\(([^)]+)\)", written):
        assert (DOCS / link).exists()


def test_there_are_many_examples():
    assert len(EXAMPLES) >= 25


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_says_what_it_is_and_has_a_certificate(path):
    text = path.read_text(encoding="utf-8")
    assert path.name.startswith("plot_") and (path.parent / "GALLERY_HEADER.rst").exists()
    title, underline, blank, *rest = (ast.get_docstring(ast.parse(text)) or "").splitlines()
    assert underline == "=" * len(title) and blank == "" and rest
    assert "certificate_" in text or "verify(" in text
    assert len(text.splitlines()) <= 80


def test_sections_of_the_gallery_are_in_order(building):
    sections = building("gallery_of_examples").SECTIONS
    assert sorted(sections) == sorted({path.parent.name for path in EXAMPLES})


def test_links_that_leave_the_folder_become_pages_or_paths(building):
    within_site = building("repository_links").within_site
    text = "[log](../CHANGELOG.md#x) [code](../widemargin/problems/dual.py) [faq](faq.md) [w](https://a.b)"
    text += " ![p](images/boundary.png)"
    assert within_site(text, DOCS, DOCS) == (
        "[log](changelog.md#x) code (`widemargin/problems/dual.py`) [faq](faq.md) [w](https://a.b)"
        " ![p](images/boundary.png)"
    )
    assert within_site("[a](docs/faq.md)", ROOT, DOCS / "decisions") == "[a](../faq.md)"


def test_a_link_to_a_notebook_leads_to_its_page(building, tmp_path):
    within_site = building("repository_links").within_site
    link = "[1](../examples/notebooks/2_the_dual_by_hand.ipynb)"
    assert within_site(link, DOCS, DOCS) == "[1](notebooks/2_the_dual_by_hand.myst)"
    assert within_site(link, DOCS / "guide", DOCS) == link  # no file is there


def test_a_notebook_becomes_a_page(building):
    name = "2_the_dual_by_hand.ipynb"
    text = building("notebook_pages").as_markdown(ROOT / "examples" / "notebooks" / name)
    assert text.startswith("# The dual and the KKT conditions by hand\n\nAbout 45 minutes")
    assert text.count("{download}") == 2 and text.index("{download}") < text.index("```python\nfrom fractions")
    assert "```python\n# Exercise 1." in text


def test_every_notebook_is_in_the_navigation():
    listed = (DOCS / "how-to.md").read_text(encoding="utf-8")
    for notebook in (ROOT / "examples" / "notebooks").glob("*.ipynb"):
        assert f"\nnotebooks/{notebook.stem}\n" in listed


def test_the_toy_is_a_page_of_the_site(building, tmp_path):
    toy_page = building("toy_page")
    toy_page.write(tmp_path)
    assert 'id="wm-toy"' in (tmp_path / toy_page.NAME).read_text(encoding="utf-8")
    source = [(DOCS / "toy.md").read_text(encoding="utf-8")]
    toy_page.on_source_read(None, "toy", source)
    assert source[0].count(f"{{button-link}} {toy_page.NAME}") == 1
    assert (DOCS / "index.md").read_text(encoding="utf-8").count(f":link: {toy_page.NAME}\n") == 3


def test_pictures_of_a_twin_are_copied(building, tmp_path):
    (tmp_path / "_images").mkdir()
    building("markdown_twins").copy_pictures("![a](../_images/toy.gif) ![b](https://a.b/_images/c.png)", tmp_path)
    assert [path.name for path in (tmp_path / "_images").iterdir()] == ["toy.gif"]


def test_a_plain_docstring_becomes_markup(building):
    as_markup = building("plain_docstrings").as_markup
    lines = ["Minimise |w|^2 over `a|b`, xi_ small.", "", "    min |w|^2", "", "Parameters", "----------"]
    lines += ["C : float", "    Weight of |e|."]
    assert as_markup(lines) == [
        "Minimise \\|w\\|^2 over `a|b`, xi\\_ small.", "", "::", "", "    min |w|^2", "", "Parameters", "----------",
        "C : float", "    Weight of \\|e\\|.",
    ]  # fmt: skip


def test_the_link_checker_finds_what_is_broken(building, tmp_path):
    check = building("check_links").check
    (tmp_path / "beside.md").write_text("not part of the site")
    site = tmp_path / "site"
    site.mkdir()
    (site / "llms.txt").write_text("[a](a.md) [none](none.md)")
    (site / "a.md").write_text("[b](b.html)")
    (site / "a.html").write_text(
        '<p id="x"><a href="b.html#y">1</a><a href="b.html#z">2</a><a href="c.html">3</a><a href="#x">4</a>'
        '<a href="../beside.md">6</a>'
        '<a href="https://example.org">5</a><img src="https://example.org/p.png"><img src="gone.png">'
        '<link rel="stylesheet" href="s.css">'
    )
    (site / "b.html").write_text('<h1 id="y">')
    (site / "s.css").write_text("@font-face { src: url(https://example.org/f.woff2) }")
    wrong, counts = check(site)
    assert wrong == [
        "a.html: b.html#z has no such anchor",
        "a.html: c.html leads nowhere",
        "a.html: ../beside.md leads nowhere",
        "a.html: loads https://example.org/p.png from elsewhere",
        "a.html: loads gone.png, which is not there",
        "s.css: loads https://example.org/f.woff2 from elsewhere",
        "llms.txt: none.md leads nowhere",
    ]
    assert counts["pages"] == 2 and counts["to other sites"] == 1


def test_the_twin_of_an_example_is_markdown(building):
    text = building("markdown_twins").of_example(ROOT / "examples/gallery/classification/plot_widest_margin.py")
    assert text.startswith("# The widest margin\n\nOf all lines")
    assert text.count("```python") == 2 and "With `C=np.inf` there is no slack" in text and "# %%" not in text
