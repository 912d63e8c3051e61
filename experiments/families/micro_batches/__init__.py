"""Measuring of queries on Spark: whole runs, one after the other, in one Java process."""
