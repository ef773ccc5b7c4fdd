"""Steps on a problem whose kernel matrix is in memory: pairs, single variables, Newton, interior point."""
