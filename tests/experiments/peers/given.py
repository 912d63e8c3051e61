"""Input of joins, in memory."""

from __future__ import annotations

import numpy as np

from datasets.in_memory import InMemory


def keys(rows: int = 600, seed: int = 3) -> InMemory:
    """Return uniform keys of two streams, dense enough for several partners in a small window."""
    generator = np.random.default_rng(seed)
    r, s = (generator.integers(0, 4_000, rows).astype(np.int32) for _ in range(2))
    return InMemory("a few keys", "keys", {"uniform": {"r": r, "s": s}})


def streams(rows: int = 500, seed: int = 4) -> InMemory:
    """Return rows of R and S, near one another, so that many match and some just do."""
    generator = np.random.default_rng(seed)

    def pair() -> tuple[np.ndarray, np.ndarray]:
        whole = generator.integers(0, 120, rows).astype(np.int32)
        # Halves, so that some lie just on an end of a band.
        return whole, (generator.integers(0, 200, rows) / 2).astype(np.float32)

    x, y = pair()
    a, b = pair()
    z = np.array([f"text {number}" for number in range(rows)], dtype=object)
    c, d = generator.random(rows), (np.arange(rows) % 2).astype(bool)
    tables = {"r": {"x": x, "y": y, "z": z}, "s": {"a": a, "b": b, "c": c, "d": d}}
    return InMemory("a few rows", "streams", tables)
