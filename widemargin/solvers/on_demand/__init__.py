"""Problems whose rows are evaluated on demand: rounds of working sets, each solved in memory."""
