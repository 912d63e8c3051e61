"""The checks of the aggregates: scenarios for any of them, one file a structure, and mutants."""
