"""The programs of aggregates whose update threads share the winsets, and each read every tuple."""

from __future__ import annotations

from operators.aggregation.check.programs import (
    A_CALL_EACH,
    KEYS_IN_BUCKETS,
    OF_THREAD_0,
    OF_THREAD_1,
    ONE_BUCKET,
    AggregationProgram,
    adds,
    closes,
    processes,
    updates,
)

# The first two tuples, of one time, are one for each update thread.
_LOADED = (
    *adds(0, (0, OF_THREAD_0, 5), (3, OF_THREAD_1, 6)),
    *adds(1, (0, OF_THREAD_1, 7), (2, OF_THREAD_0, 8)),
    *closes(0, 1),
)

# The smallest come first here too: their states make the graphs.
OF_UPDATE = (
    AggregationProgram(
        "the-end",
        (updates(0, 2), (*updates(1, 2), *processes(2))),
        (*adds(0, (0, OF_THREAD_0)), *closes(0, 1), *updates(0, 1)),
    ),
    AggregationProgram(
        "input-and-updates",
        ((*adds(0, (2, OF_THREAD_1)), *closes(0)), (*updates(0, 2), *updates(1, 2), *processes(1))),
        (*adds(0, (0, OF_THREAD_0)), *adds(1, (1, OF_THREAD_0)), *closes(1)),
    ),
    AggregationProgram("updates", (updates(0, 2), updates(1, 2)), _LOADED, winsets_ahead=3),
    AggregationProgram(
        "overlapping",
        (updates(0, 3), updates(1, 3)),
        _LOADED,
        size=4,
        levels=2,
        winsets_ahead=3,
        function="sum",
    ),
    AggregationProgram(
        "updates-and-output",
        (updates(0, 4), (*updates(1, 3), *processes(2))),
        (*_LOADED, *updates(0, 1), *updates(1, 1)),
    ),
    AggregationProgram(
        "one-bucket",
        (updates(0, 2), updates(1, 2)),
        (*adds(0, (0, ONE_BUCKET[0]), (0, ONE_BUCKET[1])), *closes(0, 1)),
        keys=KEYS_IN_BUCKETS,
    ),
    # The first tuple of a key is the first in the total order, whichever thread is faster.
    AggregationProgram(
        "firsts",
        (updates(0, 3), (*updates(1, 2), *processes(1))),
        _LOADED,
        size=4,
        function="first",
    ),
    # Thread 1 has no key here, and still has to publish that it is past a winset: no end comes to
    # the rescue, and the output thread retries until it has one.
    AggregationProgram(
        "foreign-tuples",
        (updates(1, 2), (*updates(0, 2), *processes(1))),
        (*adds(0, (0, OF_THREAD_0), (2, OF_THREAD_0)), *adds(1, (9, OF_THREAD_0)), *closes(0)),
        retry=True,
    ),
    A_CALL_EACH._replace(threads=(*A_CALL_EACH.threads, updates(0, 2), updates(1, 2))),
    # A tuple that finds no room for the winset is held: thread 0 goes on when thread 1 has.
    AggregationProgram(
        "held",
        (updates(0, 4), (*updates(1, 2), *processes(1))),
        (*adds(0, (0, 0), (4, 0)), *adds(1, (2, 0), (9, 0)), *closes(0)),
    ),
    AggregationProgram(
        "going-round",
        (updates(0, 4), (*updates(1, 4), *processes(3))),
        (
            *adds(0, (0, OF_THREAD_0), (4, OF_THREAD_1), (8, OF_THREAD_0)),
            *adds(1, (2, OF_THREAD_1), (6, OF_THREAD_0)),
            *closes(0, 1),
            *updates(0, 2),
            *updates(1, 2),
            *processes(1),
        ),
        retry=True,
    ),
    # Two threads that each took the other's keys would still update each key once.
    AggregationProgram(
        "one-update-thread",
        (updates(0, 4), processes(2)),
        _LOADED,
        winsets_ahead=3,
        update_threads=1,
        schedules=20,
    ),
    AggregationProgram(
        "deep-all-three",
        (updates(0, 4), updates(1, 4), processes(2)),
        (*_LOADED, *updates(0, 1), *updates(1, 1)),
        deep=True,
    ),
)
