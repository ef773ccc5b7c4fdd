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


def check(book_number, exercise, answer):
    """Run a notebook with its solutions up to an exercise, then an answer of somebody else and the check after it."""
    book = BOOKS[book_number - 1]
    cells, solutions, names = numbered(code_cells(book)), solutions_of(book), {}
    place = next(k for k, (_, number) in enumerate(cells) if number == exercise)
    before = [solutions[number] if number else cell for cell, number in cells[:place]]
    for source in [*before, answer, cells[place + 1][0]]:
        exec(compile(source, book.name, "exec"), names)


ENDS = "def ends(alpha_1, alpha_2, y_1, y_2):\n    "
KKT = """def violators(alpha, w, b, C):
    margins = [t * (w[0] * p + w[1] * q + b) for (p, q), t in zip(X, y)]
    return """

OTHER_STYLES = {
    "points as a tuple of np.where": (1, 2,
        "on_the_edge = np.where(np.isclose(y * hard.decision_function(X), 1, atol=0.01))"),
    "indices as an array": (2, 4,
        KKT + "np.flatnonzero([a < C and m < 1 or a > 0 and m > 1 for a, m in zip(alpha, margins)])"),
    "indices as a tuple": (2, 4,
        KKT + ("tuple(i for i in range(n) if alpha[i] < C and margins[i] < 1 or alpha[i] > 0 and margins[i] > "
        "1)")),
    "phi as a list": (3, 1,
        "def phi(x):\n    a, b = x\n    s = 2**0.5\n    return [a * a, b * b, s * a * b, s * a, s * b, "
        "1]"),
    "ends as a list": (4, 1,
        ENDS + ("s = y_1 * y_2\n    low, high = sorted((alpha_2 + s * alpha_1, alpha_2 + s * alpha_1 - s * "
        "C))\n    return [max(0.0, low), min(C, high)]")),
}  # fmt: skip
WRONG = {
    "the same width for every C": (1, 4,
        "Cs = [0.001, 0.01, 0.1, 1.0, 10.0, 100.0]\nwidths, slacks = [1.0] * 6, [1.0] * 6"),
    "no point in any kind": (1, 5, "outside = inside = np.zeros(120, bool)\nwrong = soft.predict(Z) != t"),
    "as many wrong points, but others": (1, 5,
        "f = t * soft.decision_function(Z)\noutside, inside = f > 1.01, f < 0.99\nwrong = "
        "np.arange(120) < (f < 0).sum()"),
    "free points only looked at beyond the edge": (2, 4,
        KKT + "[i for i in range(n) if alpha[i] == 0 and margins[i] < 1 or alpha[i] > 0 and margins[i] > 1]"),
    "points at C are never looked at": (2, 4,
        KKT + "[i for i in range(n) if alpha[i] < C and margins[i] != 1 and (alpha[i] or margins[i] < 1)]"),
    "C is the end, whatever the other one": (4, 1,
        ENDS + ("return (max(0.0, alpha_2 - alpha_1), C) if y_1 != y_2 else (max(0.0, alpha_1 + alpha_2 - C), "
        "min(C, alpha_1 + alpha_2))")),
    "no steps": (4, 3, "own = []"),
}  # fmt: skip


@pytest.mark.parametrize("book, exercise, answer", OTHER_STYLES.values(), ids=list(OTHER_STYLES))
def test_right_answers_in_another_style_are_accepted(book, exercise, answer):
    check(book, exercise, answer)


@pytest.mark.parametrize("book, exercise, answer", WRONG.values(), ids=list(WRONG))
def test_wrong_answers_are_refused(book, exercise, answer):
    with pytest.raises(AssertionError):
        check(book, exercise, answer)
