"""The examples about relevance vectors and about bounds show what they are about."""

import importlib.util
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name):
    """Load an example as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_relevance_vectors_are_fewer_and_as_good(capsys):
    module = example("relevance_vectors")
    classes, curve = module.classification(n=150), module.regression(n=60)
    assert classes["RVC"][0] < classes["SVC"][0] / 3 and classes["RVC"][1] > classes["SVC"][1] - 0.03
    assert curve["RVR"][0] < curve["SVR"][0] and curve["RVR"][1] < 0.1
    assert "log loss" in capsys.readouterr().out


def test_bounds_close_in_on_the_truth(capsys):
    rows = example("bounds_closing_in").main(n=400, most_steps=16)
    for _, bound, true in rows:
        assert true <= bound + 1e-12
    assert rows[-1][1] < 0.01 * rows[0][1]
    assert "lower" in capsys.readouterr().out
