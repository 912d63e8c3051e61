"""Scaling ordered stream processing on multicores: the runs, and the paper's claims."""
