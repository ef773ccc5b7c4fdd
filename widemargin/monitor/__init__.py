"""Watching and ending a fit: status, stop rules, progress, history, callbacks, Ctrl-C, warnings."""
