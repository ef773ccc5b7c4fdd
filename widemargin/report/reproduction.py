"""How to reproduce a model: the program that trains it, and what its preparation makes of the data."""

from __future__ import annotations

import sys
from typing import Any

from sklearn.base import BaseEstimator

from widemargin.io.preparation import Column, Preparation, of_table
from widemargin.report.numbers import number
from widemargin.report.subject import Subject

MOST_COLUMNS = 40  # of a file, listed with what becomes of them


def program(subject: Subject, changed: list[str]) -> str:
    """Return the lines that make the model again from its data; `changed` are the parameters to give."""
    module = type(subject.model).__module__.split(".")[0]
    made = f"{subject.machine}({', '.join(changed)})"
    steps = [step for _, step in subject.before.steps] if subject.before is not None else []
    if steps:
        made = f"make_pipeline({', '.join([*map(_code, steps), made])})"
    preparation = of_table(subject.model)
    reading = [] if preparation is None else _reading(preparation)
    imports = _imports(steps) + [f"from {module} import {subject.machine}"]
    imports += ["from widemargin.io import Preparation, read_table"] if reading else []
    fit = f"model = {made}.fit(X{', y' if subject.y is not None else ''})"
    return "\n".join([*imports, "", *reading, fit])


def described(model: Any) -> str | None:
    """Return in words how the file a model was trained on became features; None if it was not trained on a file."""
    plain = getattr(model, "preparation_", None) or {}
    preparation = of_table(model)
    if plain.get("format") == "libsvm":
        return "LIBSVM text" + (
            f", features counted from {0 if plain['zero_based'] else 1}" if "zero_based" in plain else ""
        )
    if preparation is None:
        words = [f"{key}: {value}" for key, value in plain.items() if isinstance(value, str | int | float)]
        return (", ".join(words) or "kept in the model") if plain else None
    columns = preparation.columns
    ways = {"standard": "to mean 0 and deviation 1", "minmax": "to [0, 1]"}
    words = ["a table"] + ([] if preparation.target is None else [f"target: {preparation.target}"])
    if any(column.kind == "category" for column in columns):
        words.append("texts become 0/1 features")
    if preparation.scaled:
        words.append(" ".join(["numbers are scaled", ways.get(preparation.scaling or "", "")]).strip())
    if preparation.imputes:
        words.append("empty cells are filled in: the median of numbers, the most frequent text")
    if preparation.drop_missing:
        words.append("rows with other empty cells are left out")
    return "; ".join(words)


def columns_of(model: Any) -> list[tuple[str, str]]:
    """What becomes of each column of a table, for a model trained on a file."""
    preparation = of_table(model)
    return [] if preparation is None else [(one.name, _becomes(one)) for one in preparation.columns[:MOST_COLUMNS]]


def _becomes(column: Column) -> str:
    """What becomes of a column, and of its empty cells."""
    if column.kind == "category":
        words = f"one 0/1 feature for each of {len(column.categories)} categories"
    elif (column.shift, column.unit) == (0.0, 1.0):
        words = "as it is"
    else:
        words = f"(x \u2212 {number(column.shift)}) / {number(column.unit)}"
    if column.filling is None:
        return words
    filling = column.filling if isinstance(column.filling, str) else number(column.filling)
    return f"{words}; empty cells count as {filling}"


def _reading(preparation: Preparation) -> list[str]:
    """Lines that read a table and prepare it."""
    scaling = preparation.scaling or ("none" if not preparation.scaled else None)
    given = {
        "target": preparation.target,
        "scaling": scaling,
        "categorical": preparation.categorical,
        "drop": preparation.dropped,
        "impute": preparation.imputes,
        "drop_missing": preparation.drop_missing,
    }
    words = [f"{name}={value!r}" for name, value in given.items() if value not in ("none", [], False)]
    texts = [*preparation.categorical, *preparation.dropped]
    lines = [
        f'table = read_table("FILE"{f", texts={texts!r}" if texts else ""})',
        f"preparation = Preparation.fit(table, {', '.join(words)})",
    ]
    if scaling is None:
        lines.insert(0, "# scaling: as in the table below; the model file does not name it")
    if preparation.drop_missing:
        lines.append("table = preparation.complete(table)")
    lines.append("X, notes = preparation.matrix(table)")
    return lines + ([] if preparation.target is None else ["y = preparation.targets(table)"])


def _code(step: Any) -> str:
    """A step of a pipeline as it is written in a program, on one line and in full."""
    words = BaseEstimator.__repr__(step, N_CHAR_MAX=sys.maxsize) if isinstance(step, BaseEstimator) else repr(step)
    return " ".join(words.split())


def _imports(steps: list[Any]) -> list[str]:
    """Lines that import all estimators in steps, from their public modules."""
    parts = [part for step in steps for part in (step, *step.get_params().values()) if hasattr(part, "get_params")]
    found = {(type(part).__module__.split("._")[0], type(part).__name__) for part in parts}
    lines = [f"from {module} import {name}" for module, name in sorted(found | {("sklearn.pipeline", "make_pipeline")})]
    return lines if steps else []
