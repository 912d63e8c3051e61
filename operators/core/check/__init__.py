"""The checks of the structures that operators are built from: one file each, and mutants."""
