"""The README's Python runs as it stands, in one go."""

import re
from pathlib import Path

import matplotlib
import pytest

matplotlib.use("Agg")

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # one example stops before the end
def test_python_of_the_readme_runs(capsys, tmp_path, monkeypatch):
    pytest.importorskip("onnx")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.S)
    assert len(blocks) >= 5
    names: dict = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), names)
    assert capsys.readouterr().out.count("certificate") == 2
    assert names["model"].certificate_.holds


@pytest.mark.parametrize("path", re.findall(r"\]\(([^)#:]+)\)", README.read_text(encoding="utf-8")))
def test_links_lead_somewhere(path):
    assert (README.parent / path).exists()
