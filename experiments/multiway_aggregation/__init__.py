"""Efficient data streaming multiway aggregation: what is run, and what the paper reports."""
