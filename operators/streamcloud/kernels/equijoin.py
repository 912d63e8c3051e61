"""Equijoin: a symmetric hash join over windows of time or of count.

Each window has chains of equal hash (`operators.streamcloud.kernels.stores`); a tuple walks one
chain of the other side, so that few tuples without equal columns are compared.
"""

from __future__ import annotations

import numpy as np

from operators.streamcloud.kernels.pairing import Pairing
from operators.streamcloud.kernels.probing import probe_all


class JoinOperator(Pairing):
    """A join."""

    # Tuples with equal columns need not match.
    tests_found = True

    def search(self, records: np.ndarray) -> int:
        """See `Pairing`."""
        left, right = (window.store for window in self.windows)
        return probe_all(left, right, *self.places, self.run, records, self.pairs)
