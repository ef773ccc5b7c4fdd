"""Gaussian processes: covariances, likelihoods and posteriors."""
