"""Scenarios of schedulers for ``millrace check``."""

# The shortest program in which one worker stops the other has more states than those of others.
SHARE = {"states": 2_000}
