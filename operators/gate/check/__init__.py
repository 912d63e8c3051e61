"""The checks of the gates: scenarios that fit any of them, and mutants."""
