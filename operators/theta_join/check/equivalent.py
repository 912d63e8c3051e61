"""Automatic mutants of theta joins that no check can kill, with the reasons."""

EQUIVALENT = {
    "operators.theta_join.chain way_of: compare side == R -> side != R": (
        "the two sides have each other's rings, at both ends of each"
    ),
}
