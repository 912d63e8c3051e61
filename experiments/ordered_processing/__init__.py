"""Scaling ordered stream processing on multicores: what is run, and what the paper reports."""
