"""How gates are run and timed: the bench, and the loop of a reader."""
