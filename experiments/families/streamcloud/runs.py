"""How long runs of the family's own phases last, for the bench and for what plans it."""

# So long that nodes have said some twenty times what their time went into.
COSTS_SECONDS = 2.0
COUNTING_SECONDS = 1.0
