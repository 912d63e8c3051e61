"""Partitioned parallelism: tuples of one partition in their order, those of others beside them."""
