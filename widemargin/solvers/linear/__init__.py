"""Solvers for linear machines: semismooth Newton and coordinate descent."""
