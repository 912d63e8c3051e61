"""Worklists of a partitioned operator: tuples of one partition in order, others concurrently."""
