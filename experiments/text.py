"""Numbers for people."""

from __future__ import annotations


def si(value: float) -> str:
    """Return a number with three digits and the prefix of a unit.

    Examples
    --------
    >>> si(1_234_567), si(999_999)
    ('1.23 M', '1 M')
    """
    for limit, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        # Three digits of a little less are those of the limit.
        if abs(value) >= 0.9995 * limit:
            return f"{value / limit:.3g} {prefix}"
    return f"{value:.3g} "
