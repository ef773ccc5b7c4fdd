"""Files: atomic writing, and archives of arrays."""
