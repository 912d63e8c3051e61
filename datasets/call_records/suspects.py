"""Which numbers are suspicious, and which of them are announced when: shared by who makes calls.

One number in `ONE_IN` is on a list that does not change, and an announcement of a number of it
comes with every tenth call. Recorded calls come without such a list: `announced` makes the stream
from them by the same two rules. Knows no Spark.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from datasets.keys import code_keys

# ASSUME: the paper says that there is a stream of suspicious numbers, and nothing more of it.
ONE_IN = 64
"""One number of so many is on the list: the one in the middle of each so many, in their order."""
CALLS_AN_ANNOUNCEMENT = 10


def announced(calls: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """Return the stream of suspicious numbers beside calls that were recorded.

    Parameters
    ----------
    calls : mapping of str to Array, (rows,)
        At least ``emitted``, not decreasing, and ``caller``, integers or text without nulls; one
        row or more.

    Returns
    -------
    dict of str to Array
        ``ts``, ``row`` and ``number``. The first of each `CALLS_AN_ANNOUNCEMENT` calls brings an
        announcement at its time. The list's numbers take turns; of callers too few for one in
        `ONE_IN` the last one is the list.

    Examples
    --------
    >>> calls = {"emitted": pa.array(range(0, 75, 5)), "caller": pa.array([7, 3, 3, 5, 4] * 3)}
    >>> {name: column.to_pylist() for name, column in announced(calls).items()}
    {'ts': [0, 50], 'row': [0, 1], 'number': [7, 7]}
    """
    _, callers = code_keys(calls["caller"])
    listed = callers[ONE_IN // 2 :: ONE_IN]
    if len(listed) == 0:
        listed = callers[-1:]
    when = np.arange(0, len(calls["emitted"]), CALLS_AN_ANNOUNCEMENT)
    place = np.arange(len(when))
    return {
        "ts": calls["emitted"].take(pa.array(when)),
        "row": pa.array(place),
        "number": pa.array(listed[place % len(listed)].tolist()),
    }
