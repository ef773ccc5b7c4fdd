"""The front-end in one piece, and what its two sides have in common."""

import re
import subprocess
import sys

import pytest

from widemargin.playground import page, points


def test_the_command_writes_one_file(tmp_path):
    out = tmp_path / "toy.html"
    subprocess.run([sys.executable, "-m", "widemargin.playground", str(out)], check=True)
    text = out.read_text("utf-8")
    assert text == page.write_page()
    assert "connect-src 'none'" in text.replace("&#x27;", "'")
    assert not re.search(r'(src|href)="(?!data:|\$\{)', text)  # nothing is loaded
    failed = subprocess.run([sys.executable, "-m", "widemargin.playground"], capture_output=True, text=True)
    assert failed.returncode == 2 and "usage" in failed.stderr


def test_values_cannot_end_the_script_element():
    text = page.write_page({"table": {"name": "</script><script>alert(1)</script>", "text": ""}})
    assert "<script>alert" not in text
    with pytest.raises(ValueError):
        page.write_page({"points": [float("nan")]})


def test_modules_come_after_those_they_need():
    order = page.modules_below("page.js")
    for name in order:
        needed = [other for _, other in page.IMPORT.findall(page.read(name))]
        assert all(order.index(other) < order.index(name) for other in needed)
    assert set(order) == {path.name for path in page.FRONT.iterdir() if path.name.endswith(".js")}


def test_circles_and_other_forms_of_import_are_errors(monkeypatch):
    sources = {
        "a.js": 'import { b } from "./b.js";\n',
        "b.js": 'import { a } from "./a.js";\n',
        "c.js": 'import d from "./d.js";\n',
    }
    monkeypatch.setattr(page, "read", sources.__getitem__)
    with pytest.raises(ValueError, match="a.js imports b.js imports a.js"):
        page.in_one("a.js")
    with pytest.raises(ValueError, match="c.js imports or exports in a form"):
        page.in_one("c.js")


def test_files_of_the_front_end_are_small():
    lengths = {path.name: len(path.read_text("utf-8").splitlines()) for path in page.FRONT.iterdir()}
    assert max(lengths.values()) <= 300


def test_both_sides_have_the_same_names_and_limits(modules):
    assert modules.run("modules['state.js'].MOST_POINTS") == points.MOST_POINTS
    assert modules.run("modules['state.js'].MOST_CLASSES") == points.MOST_CLASSES
    kernels = modules.run("modules['kernels.js'].KERNELS")
    assert {name: tuple(about["parameters"]) for name, about in kernels.items()} == points.KERNELS
    machines = modules.run("modules['machines.js'].MACHINES")
    assert {name: tuple(about["parameters"]) for name, about in machines.items()} == points.OWN
    assert set(points.MACHINES) == set(points.OWN)
