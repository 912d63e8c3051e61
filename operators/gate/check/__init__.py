"""What gates are checked with: scenarios for any of them, and mutants."""
