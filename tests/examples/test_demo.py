"""The demo is the first thing a newcomer runs: every name it imports must be there."""

import importlib.util
from pathlib import Path

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


def test_the_demo_can_be_loaded():
    specification = importlib.util.spec_from_file_location("demo", DEMO)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    assert callable(module.main)
