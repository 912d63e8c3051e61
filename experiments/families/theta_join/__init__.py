"""How theta joins are run and timed: the bench, its threads, and the oracle of its pairs."""
