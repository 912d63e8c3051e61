"""Numbers for people."""

from __future__ import annotations


def si(value: float) -> str:
    """Return a number with three digits and its unit's prefix: "1.23 M" of 1,234,567."""
    for limit, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g} {prefix}"
    return f"{value:.3g} "
