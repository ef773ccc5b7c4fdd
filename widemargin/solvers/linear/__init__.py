"""Solvers for linear models: semismooth Newton and coordinate descent."""
