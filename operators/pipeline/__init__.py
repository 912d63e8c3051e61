"""Ordered pipelines: operators in a row, workers sent to them, and the order of a serial run."""
