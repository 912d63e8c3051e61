"""The figures of "Efficient data streaming multiway aggregation", by their numbers there."""
