"""Bench of queries on instances: the streams, the clock, the oracle, and the counted work."""
