"""Efficient data streaming multiway aggregation: the runs, and the paper's claims."""
