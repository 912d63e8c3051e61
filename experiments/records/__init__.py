"""Records: quantities and columns, raw results and their keys, statistics, the audit."""
