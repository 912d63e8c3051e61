"""Scenarios of schedulers for ``millrace check``."""
