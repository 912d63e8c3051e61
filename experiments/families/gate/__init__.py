"""Running and timing of gates: the bench, and the loop of a reader."""
