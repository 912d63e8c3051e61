"""The lengths of the runs of the family's extra phases, for the bench and for planning."""

# Long enough for about ten reports of each node in the middle.
COSTS_SECONDS = 0.3
COUNTING_SECONDS = 1.0
