"""Platt's benchmark of 1998, run again: `python -m benchmarks.platt1998 --help`."""
