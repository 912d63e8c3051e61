"""Memory orders of shared parts that no program can need, with the reasons."""

from __future__ import annotations

ORDERS = {
    "operators.core.optimistic upgrade_at: cas(locks) ACQUIRE": (
        "the caller has acquired the version that the swap compares with, and a holder that gave"
        " the same version back changed nothing"
    ),
    "operators.core.optimistic release_unchanged_at: store(locks) RELEASE": (
        "the holder has only loaded: a load that sees a change made after the store would be load"
        " buffering, which this memory leaves out and some processors do not"
    ),
}
