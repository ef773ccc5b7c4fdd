"""Problems whose rows are in memory, each solved in a compiled call."""
