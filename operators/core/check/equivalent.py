"""Automatic mutants of shared parts that no check can kill, with the reasons."""

EQUIVALENT = {
    "operators.core.spsc_ring claim_refresh: drop store(rings.positions, base + SEEN_READ, read,"
    " RELAXED) -> pass": (
        "the producer loads the consumer's position each time, and learns the same"
    ),
}
