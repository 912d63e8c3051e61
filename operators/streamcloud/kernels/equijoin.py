"""Equijoin: a symmetric hash join over windows of time or of count.

Each window has chains of equal hash (`operators.streamcloud.kernels.stores`); a tuple walks one of
the other side's, so that what is compared is little more than what agrees.
"""

from __future__ import annotations

import numpy as np

from operators.streamcloud.kernels.pairing import Pairing
from operators.streamcloud.kernels.probing import probe_all


class JoinOperator(Pairing):
    """A join."""

    # What agrees may still be no pair.
    tests_found = True

    def search(self, records: np.ndarray) -> int:
        """See `Pairing`."""
        left, right = (window.store for window in self.windows)
        return probe_all(left, right, *self.places, self.run, records, self.pairs)

    def compile(self) -> None:
        """See `Pairing`."""
        for window in self.windows:
            window.compile()
