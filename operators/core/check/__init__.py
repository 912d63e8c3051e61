"""What the structures that operators are built from are checked with: a file each, and mutants."""
