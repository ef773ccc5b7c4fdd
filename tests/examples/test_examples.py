"""The examples run, on small sizes, and show what they are about."""

from importlib import import_module

import numpy as np
import pytest

from widemargin import Status, _jit


def test_exercise_1(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    passes = import_module("examples.exercise_1_gradient_ascent").main(str(tmp_path), n=60)
    printed = capsys.readouterr().out
    assert (tmp_path / "exercise_1_margin.png").stat().st_size > 10_000
    assert passes["ascending alpha"] < passes["sequential (Table 7.1)"]
    reached = [
        float(line.split("margin ")[1]) for line in printed.splitlines() if "passes" in line and "margin " in line
    ]
    assert len(reached) == len(passes) and np.ptp(reached) < 2e-3 * max(reached)  # one machine, whatever the order
    assert "alpha (y f - 1)" in printed and "The answer meets the tolerance." in printed


def test_exercise_2(capsys):
    module = import_module("examples.exercise_2_soft_margin")
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
    module = import_module("examples.exercise_3_smo")
    module.SECONDS = 120.0  # the first fit of each solver compiles it, and that counts
    duals = module.main([str(extra)])
    names = {name for name, _ in duals}
    assert len(names) == 5
    for name in names:
        values = [duals[name, solver] for solver in module.SOLVERS]
        assert np.ptp(values) <= 2e-3 * abs(values[0])


def test_relevance_vectors_are_fewer_and_as_good(capsys):
    module = import_module("examples.relevance_vectors")
    classes, curve = module.classification(n=150), module.regression(n=60)
    assert classes["RVC"][0] < classes["SVC"][0] / 3 and classes["RVC"][1] > classes["SVC"][1] - 0.03
    assert curve["RVR"][0] < curve["SVR"][0] and curve["RVR"][1] < 0.1
    assert "log loss" in capsys.readouterr().out


def test_bounds_close_in_on_the_truth(capsys):
    rows = import_module("examples.bounds_closing_in").main(n=400, most_steps=16)
    for _, bound, true in rows:
        assert true <= bound + 1e-12
    assert rows[-1][1] < 0.01 * rows[0][1]
    assert "lower" in capsys.readouterr().out


def test_the_demo_can_be_loaded():
    """It is the first thing a newcomer runs: every name it imports must be there."""
    assert callable(import_module("examples.demo").main)


def test_the_demo_compiles_before_it_times(monkeypatch):
    """Interpreted first, functions would be compiled within the timed fits: 13 s beside scikit-learn's 8."""
    demo = import_module("examples.demo")
    monkeypatch.setattr(demo, "PLATT_SAMPLES", 300)
    monkeypatch.setattr(_jit.INTERPRETING, "own", 0.0)
    demo.warm_up()
    assert _jit.INTERPRETING.own == np.inf


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_wine_and_yeast(capsys, tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"NAME_{i}  " + "  ".join(f"{v:.2f}" for v in rng.random(8) + i % 2) + f"  C{i % 2}" for i in range(40)]
    (tmp_path / "yeast.data").write_text("\n".join(lines) + "\n")
    module = import_module("examples.wine_and_yeast")
    found = module.main(str(tmp_path), repeats=1)
    assert set(found) == {"wine", "yeast"} and min(found["wine"].values()) > 0.93
    assert found["yeast"]["SVC, Gaussian"] > 0.9
    assert "yeast: 40 samples, 8 features, 2 classes" in capsys.readouterr().out
    (tmp_path / "yeast.data").write_text("too short\n")
    with pytest.raises(ValueError, match="line 1 must be a name, eight numbers and a class"):
        module.read_yeast(tmp_path / "yeast.data")
