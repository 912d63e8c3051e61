"""Cartesian product: each tuple meets all that are near, and the predicate says which pairs match.

The window lies in memory column by column, so that a scan reads what the predicate asks for and the
times, and no more.
"""

from __future__ import annotations

from collections.abc import Callable

from operators.streamcloud.kernels.pairing import Pairing


class ProductOperator(Pairing):
    """A product."""

    def searches(self, module) -> list[tuple[Callable | None, Callable | None]]:
        """See `Pairing`."""
        return [(None, None), (None, None)]

    def relink(self, hash_words: Callable | None) -> Callable | None:
        """See `Pairing`."""
        return None
