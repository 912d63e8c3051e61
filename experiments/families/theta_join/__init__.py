"""Runs and timing of theta joins: the bench, the threads, and the oracle of the pairs."""
