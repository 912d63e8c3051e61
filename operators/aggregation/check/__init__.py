"""What aggregates are checked with: scenarios for any of them, a file a structure, and mutants."""
