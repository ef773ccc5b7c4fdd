"""The demo is the first thing a newcomer runs: every name it imports must be there."""

from importlib import import_module


def test_the_demo_can_be_loaded():
    assert callable(import_module("examples.demo").main)
