"""How aggregates are run, timed, and checked against their oracle."""
