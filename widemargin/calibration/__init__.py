"""Probabilities from decision values: Platt's sigmoid, its cross-validated values, one-class bins."""

from widemargin.calibration.sigmoid import PlattScaling

__all__ = ["PlattScaling"]
