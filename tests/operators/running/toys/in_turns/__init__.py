"""An external way to run operators: no threads, and rows that arrive in batches."""
