"""Watching and ending a fit: status, stop rules, time limits, progress, history, callbacks, Ctrl-C, warnings."""
