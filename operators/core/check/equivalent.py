"""Automatic mutants of shared parts that no check can kill, with the reasons."""

EQUIVALENT = {
    "operators.core.spsc_ring claim_refresh: drop store(rings.positions, base + SEEN_READ, read,"
    " RELAXED) -> pass": (
        "the producer loads the consumer's position each time, and learns the same"
    ),
    "operators.core.optimistic spin: one rounds + 1 -> rounds": (
        "whether a waiting thread pauses or yields the core, which on the machine is the same"
    ),
    "operators.core.backoff wait_a_little: constant 1 -> 0 (2)": (
        "how long a thread waits in its next round"
    ),
}
