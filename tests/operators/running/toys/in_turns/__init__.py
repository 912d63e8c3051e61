"""A stranger's way to run operators: no threads, and rows that come in batches."""
