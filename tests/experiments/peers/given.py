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


def sales(rows: int = 3_000, seed: int = 5) -> InMemory:
    """Return lines of tickets over five years, so few items that pairs and days repeat."""
    generator = np.random.default_rng(seed)
    time = 1_000_000_000 + np.sort(generator.integers(0, 5 * 365 * 86_400, rows // 5)).repeat(5)
    lines = {
        "time": time,
        "row": np.arange(rows),
        "ticket_number": 1 + np.arange(rows // 5).repeat(5),
        "item_sk": generator.integers(1, 41, rows),
        "store_sk": generator.choice([10, 20, 33, 7], rows, p=[0.6, 0.1, 0.1, 0.2]),
        "net_paid": generator.integers(1, 10_000, rows),
    }
    return InMemory("a few sales", "sales", {"sales": lines, "items": _items()})


def clicks(rows: int = 3_000, seed: int = 6) -> InMemory:
    """Return clicks of a few users, some unknown, with pauses just as long as a session allows."""
    generator = np.random.default_rng(seed)
    pauses = generator.choice([0, 3, 120, 3_600, 900_000], rows, p=[0.2, 0.5, 0.2, 0.09, 0.01])
    numbers = {"user_sk": 30, "item_sk": 40, "web_page_sk": 8}
    columns = {
        name: np.ma.array(generator.integers(1, most + 1, rows), mask=generator.random(rows) < 0.1)
        for name, most in numbers.items()
    }
    sale = np.ma.array(np.arange(rows), mask=generator.random(rows) < 0.7)
    table = {
        "time": 1_000_000_000 + pauses.cumsum(),
        "row": np.arange(rows),
        **columns,
        "sales_sk": sale,
    }
    types = np.array(["dynamic", "order", "general", "ad"] * 2, dtype=object)
    pages = {"web_page_sk": np.arange(1, 9), "type": types}
    return InMemory("a few clicks", "clicks", {"clicks": table, "items": _items(), "pages": pages})


def _items() -> dict[str, np.ndarray]:
    items = np.arange(1, 41)
    return {"item_sk": items, "category_id": 1 + items % 5}


def calls(rows: int = 3_000, seed: int = 7) -> InMemory:
    """Return calls of a few users, and reports of some of their numbers."""
    generator = np.random.default_rng(seed)
    emitted = np.sort(generator.integers(10_000, 10_400, rows))
    table = {
        "emitted": emitted,
        "row": np.arange(rows),
        "caller": generator.integers(0, 200, rows),
        "called": generator.integers(0, 200, rows),
        "start": emitted - generator.integers(1, 200, rows),
        "duration": generator.integers(1, 200, rows),
        "district": generator.integers(1, 20, rows),
        "x": generator.integers(0, 1_000, rows),
        "y": generator.integers(0, 1_000, rows),
        "called_often": np.zeros(rows, dtype=np.int64),
    }
    reports = {
        "ts": np.sort(generator.integers(10_000, 10_400, 40)),
        "row": np.arange(40),
        "number": generator.integers(0, 200, 40),
    }
    return InMemory("a few calls", "calls", {"calls": table, "suspects": reports})
