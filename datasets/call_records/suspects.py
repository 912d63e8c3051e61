"""The suspicious numbers and the times of their announcements: shared by all sources of calls.

One number in `ONE_IN` is on a fixed list, and an announcement of a number from the list comes with
every tenth call. Recorded calls have no such list: `announced` derives the stream from the calls by
the same two rules. Does not import Spark.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from datasets.keys import code_keys

# ASSUME: the paper says only that there is a stream of suspicious numbers.
ONE_IN = 64
"""One number in this many is on the list: the middle one of each group, in sorted order."""
CALLS_AN_ANNOUNCEMENT = 10


def announced(calls: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """Return the stream of suspicious numbers for recorded calls.

    Parameters
    ----------
    calls : mapping of str to Array, (rows,)
        At least ``emitted``, non-decreasing, and ``caller``, integers or text without nulls; one
        row or more.

    Returns
    -------
    dict of str to Array
        ``ts``, ``row`` and ``number``. The first of each `CALLS_AN_ANNOUNCEMENT` calls has an
        announcement at the same time. The list's numbers take turns; with too few callers for one
        in `ONE_IN`, the list is the last caller.

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
