"""Fitted models looked at: the estimator inside a pipeline, its margins, and whether its answer is optimal."""
