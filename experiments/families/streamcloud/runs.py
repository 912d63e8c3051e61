"""How long runs of the family's own phases last, for the bench and for what plans it."""

# So long that nodes say some ten times in its middle what their time went into.
COSTS_SECONDS = 0.3
COUNTING_SECONDS = 1.0
