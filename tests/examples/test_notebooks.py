"""The notebooks run with their solutions, and an exercise that is left open fails its own check."""

import json
import re
from pathlib import Path

import pytest

BOOKS = sorted(Path("examples/notebooks").glob("*.ipynb"))
EXERCISE = re.compile(r"# Exercise (\d+)\.")


def code_cells(book):
    cells = json.loads(book.read_text(encoding="utf-8"))["cells"]
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in cells)
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def solutions_of(book):
    text = (book.parent / "solutions" / f"{book.stem}.py").read_text(encoding="utf-8")
    parts = re.split(r"^# %% Exercise (\d+)\n", text, flags=re.MULTILINE)
    return dict(zip(map(int, parts[1::2]), parts[2::2]))


def numbered(cells):
    """Pairs of a cell and the number of its exercise, None for a cell that is not one."""
    found = [EXERCISE.match(cell) for cell in cells]
    return [(cell, int(match[1]) if match else None) for cell, match in zip(cells, found)]


@pytest.fixture(autouse=True)
def no_window(monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setattr(pyplot, "show", lambda: None)
    yield
    pyplot.close("all")


@pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.stem)
def test_a_notebook_runs_with_its_solutions(book, capsys):
    cells, solutions, names = numbered(code_cells(book)), solutions_of(book), {}
    exercises = [number for _, number in cells if number]
    assert exercises == list(range(1, len(exercises) + 1)) == sorted(solutions) and len(exercises) >= 5
    for place, (cell, number) in enumerate(cells):
        if number is not None:  # its check has to refuse what is given
            open_names = dict(names)
            with pytest.raises((AssertionError, TypeError, UnboundLocalError)):
                exec(compile(cell, book.name, "exec"), open_names)
                exec(compile(cells[place + 1][0], book.name, "exec"), open_names)
            cell = solutions[number]
        exec(compile(cell, book.name, "exec"), names)
    assert capsys.readouterr().out


def test_there_are_four():
    assert len(BOOKS) == 4
