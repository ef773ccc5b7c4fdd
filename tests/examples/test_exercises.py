"""The exercises run, on small sizes, and show what they are about."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from widemargin import Status

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name):
    """Load an example as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_exercise_1(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    passes = example("exercise_1_gradient_ascent").main(str(tmp_path), n=60)
    printed = capsys.readouterr().out
    assert (tmp_path / "exercise_1_margin.png").stat().st_size > 10_000
    assert passes["ascending alpha"] < passes["sequential (Table 7.1)"]
    reached = [
        float(line.split("margin ")[1]) for line in printed.splitlines() if "passes" in line and "margin " in line
    ]
    assert len(reached) == len(passes) and np.ptp(reached) < 2e-3 * max(reached)  # one machine, whatever the order
    assert "alpha (y f - 1)" in printed and "The answer meets the tolerance." in printed


def test_exercise_2(capsys):
    module = example("exercise_2_soft_margin")
    assert module.maximal_margin_fails(*module.overlapping_points(60)) is Status.UNBOUNDED
    module.CS = (0.1, 1.0)
    rows = module.main(n=80)
    assert len(rows) == 8
    best = max(accuracy for data, _, _, accuracy in rows if data == "breast cancer")
    assert best > 0.93
    assert all(accuracy > 0.6 for *_, accuracy in rows)


def test_exercise_3(capsys, tmp_path):
    extra = tmp_path / "extra"
    extra.write_text("".join(f"{1 if i % 2 else -1} 1:{i % 2 + 0.1 * i / 40} 2:{i / 40}\n" for i in range(40)))
    module = example("exercise_3_smo")
    module.SECONDS = 120.0  # the first fit of each solver compiles it, and that counts
    duals = module.main([str(extra)])
    names = {name for name, _ in duals}
    assert len(names) == 5
    for name in names:
        values = [duals[name, solver] for solver in module.SOLVERS]
        assert np.ptp(values) <= 2e-3 * abs(values[0])
