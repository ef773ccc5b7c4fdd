"""From data, a kernel and a problem to certified answers."""
