"""Linear algebra: Cholesky factors, rows of samples."""
