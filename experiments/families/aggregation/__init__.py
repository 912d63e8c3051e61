"""How aggregates are run, timed, checked against their oracle, and replayed over files."""
