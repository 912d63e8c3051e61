"""The programs that aggregates are checked with; ``scenarios`` makes scenarios of them.

There are two streams and mostly two update threads, windows a few time units long, and a handful of
keys. A thread of a program may take several parts, say an input and the output thread, so that two
threads with two preemptions find races that would take three.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from operators.aggregation.plan import AggregationPlan, make_plan
from operators.check.scenario import Call

INPUTS = 2
KEYS = 4
# What the values of a text function refer to; not each matches.
TEXTS = (b"to nobody", b"a@b.cd", b"from c@d.ef")
# With this many keys and two threads, these two share one bucket in the winsets of a W-Hive.
KEYS_IN_BUCKETS, ONE_BUCKET = 46, (0, 34)
# A key of each of the two update threads in TuMLMC.
OF_THREAD_0, OF_THREAD_1 = 0, 3
ROWS_KEPT, WINSETS_KEPT = 64, 32
LARGE = 1 << 40

Program = tuple[Call, ...]


class AggregationProgram(NamedTuple):
    """A scenario for the aggregates of one kind.

    Attributes
    ----------
    name : str
    threads : tuple of tuples of Call
    before : tuple of Call
        Calls made before the threads begin; each tuple is accepted.
    size, advance, function, keys
        Arguments of the plan.
    ahead, levels, winsets_ahead, panes_ahead, update_threads : int
        The arguments of the state, where it has such a parameter.
    rows_kept : int
        Rows that are kept until they are taken; 0 to compare the digest alone.
    needs : str
        A parameter without which the program adds nothing to the others.
    retry : bool
        Whether calls that answer FULL or NOT_READY are repeated until they do not.
    deep : bool
    graph, schedules
        As in `Scenario`.
    """

    name: str
    threads: tuple[Program, ...]
    before: Program = ()
    size: int = 2
    advance: int = 2
    function: str = "count"
    keys: int = KEYS
    ahead: int = 4
    levels: int = 1
    winsets_ahead: int = 1
    panes_ahead: int = 2
    update_threads: int = 2
    rows_kept: int = ROWS_KEPT
    needs: str = ""
    retry: bool = False
    deep: bool = False
    graph: bool = True
    schedules: float = math.inf

    def plan(self) -> AggregationPlan:
        """Return the plan of the query."""
        return make_plan(
            self.function, self.size, self.advance, self.keys, self.rows_kept, WINSETS_KEPT
        )


# --- the programs --------------------------------------------------------------------------------


def adds(stream: int, *tuples: tuple[int, ...]) -> Program:
    """Return calls that add (timestamp, key[, value]) to a stream; a value is 1 unless given."""
    return tuple(Call("add", (stream, *t, *(1,) * (3 - len(t)))) for t in tuples)


def closes(*streams: int) -> Program:
    """Return calls that close streams."""
    return tuple(Call("close", (stream,)) for stream in streams)


def updates(thread: int, count: int) -> Program:
    """Return calls in which an update thread processes a part of the tuples."""
    return (Call("update", (thread,)),) * count


def processes(count: int) -> Program:
    """Return calls of the output thread."""
    return (Call("process"),) * count


# Each thread makes one kind of call. Winset 0 is due once stream 0 is at 4 and stream 1 closed.
A_CALL_EACH = AggregationProgram(
    "a-call-each",
    (adds(0, (4, 1)), closes(1), processes(2)),
    (*adds(0, (0, 1)), *adds(1, (1, 1))),
    winsets_ahead=3,
    panes_ahead=3,
)

# The inputs meet in a gate, which has separate scenarios; the output thread works alone.
OF_OUTPUT = (
    AggregationProgram(
        "input-and-output",
        ((*adds(0, (1, 1), (4, 2)), *closes(0)), processes(3)),
        (*adds(0, (0, 1)), *adds(1, (3, 1)), *closes(1)),
        size=3,
    ),
    AggregationProgram(
        "closing",
        ((*adds(0, (5, 1, 7)), *closes(0)), (*closes(1), *processes(3))),
        (*adds(0, (0, 1, -LARGE)), *adds(1, (1, 1, LARGE + 1))),
        size=5,
        advance=3,
        function="sum",
    ),
    A_CALL_EACH,
    # Two windows are left at the end of the streams, and there is room for the rows of one.
    AggregationProgram(
        "no-room-at-the-end",
        ((*adds(0, (2, 1), (3, 2)), *closes(0)), processes(6)),
        (*adds(0, (0, 0), (1, 3)), *closes(1)),
        size=4,
        rows_kept=KEYS,
        schedules=20,
    ),
    # Two keys of which one has to go on to the next slot of a table; only the digest is kept.
    AggregationProgram(
        "digest-of-one-slot",
        ((*adds(0, (1, ONE_BUCKET[1]), (4, 1)), *closes(0)), processes(6)),
        (*adds(0, (0, ONE_BUCKET[0])), *closes(1)),
        size=3,
        keys=KEYS_IN_BUCKETS,
        rows_kept=0,
        schedules=20,
    ),
)

# More winsets than there are tables, each output before the next is made. Between two of them one
# is left out: only the rule that one is tall now and then lets the insertion head follow.
_MANY_WINSETS = (
    *closes(1),
    *sum(((*adds(0, (t, 1)), *processes(3)) for t in range(0, 48, 4)), ()),
)
_EACH_WINSET = sum(((*adds(0, (t, 0)), *adds(1, (t, 0))) for t in range(0, 10, 2)), ())
_GOING_ROUND = (*closes(1), *adds(0, (0, 1), (2, 1)), *processes(1), *adds(0, (4, 2)))
_HIVE = "winsets_ahead"

# The inputs share windows, or hand over aggregated panes. The first programs are small enough for
# the graph of all their states.
OF_INPUT = (
    AggregationProgram("closing", ((*adds(0, (0, 0)), *closes(0)), (*closes(1), *processes(2)))),
    AggregationProgram("one-window", (adds(0, (0, 1), (1, 1)), adds(1, (0, 1))), needs=_HIVE),
    AggregationProgram(
        "neighbours",
        (adds(0, (2, 0)), adds(1, (0, 1))),
        levels=2,
        winsets_ahead=3,
        needs=_HIVE,
    ),
    # Stream 0 has passed winset 1 when stream 1 makes winset 0 and passes both.
    AggregationProgram(
        "not-too-early",
        (adds(1, (0, 1), (4, 1)), processes(2)),
        adds(0, (2, 0), (4, 0)),
        winsets_ahead=3,
        panes_ahead=3,
    ),
    AggregationProgram(
        "far-ahead",
        (adds(0, (2, 0), (4, 0)), (*adds(1, (3, 1)), *processes(2))),
        (*adds(0, (0, 0)), *adds(1, (0, 1))),
    ),
    # Nodes and tables are reused, and in the second program headers, here from the first step on.
    AggregationProgram(
        "going-round",
        (adds(0, (6, 1), (8, 0)), processes(3)),
        _GOING_ROUND,
        retry=True,
        needs=_HIVE,
    ),
    AggregationProgram(
        "headers-again",
        (adds(0, (6, 1), (8, 0), (10, 3)), processes(3)),
        _GOING_ROUND,
        retry=True,
        needs="panes_ahead",
    ),
    # Tables that were never given back would be used up here.
    AggregationProgram(
        "tables-again",
        (adds(0, (48, 1)), processes(1)),
        _MANY_WINSETS,
        levels=4,
        schedules=1,
        needs=_HIVE,
    ),
    AggregationProgram(
        "all-three",
        (adds(0, (2, 1)), adds(1, (2, 1)), processes(1)),
        (*adds(0, (0, 1)), *adds(1, (1, 1))),
        size=3,
    ),
    # One window: two keys of one bucket, and the ways to change a window's words.
    AggregationProgram(
        "one-bucket",
        (adds(0, (0, ONE_BUCKET[0])), adds(1, (0, ONE_BUCKET[1]), (0, ONE_BUCKET[0]))),
        keys=KEYS_IN_BUCKETS,
        needs=_HIVE,
    ),
    AggregationProgram(
        "one-bucket-deferred",
        (adds(0, (0, ONE_BUCKET[0])), adds(1, (0, ONE_BUCKET[1]), (0, ONE_BUCKET[0]))),
        (*adds(0, *((0, ONE_BUCKET[0]),) * 2), *adds(1, *((0, ONE_BUCKET[1]),) * 2)),
        keys=KEYS_IN_BUCKETS,
        winsets_ahead=3,
        needs="deferred",
    ),
    AggregationProgram(
        "one-bucket-of-panes",
        (adds(0, (0, ONE_BUCKET[0]), (3, 1)), adds(1, (0, ONE_BUCKET[1]), (3, ONE_BUCKET[0]))),
        keys=KEYS_IN_BUCKETS,
        winsets_ahead=3,
        needs="panes_ahead",
    ),
    AggregationProgram(
        "largest",
        (adds(0, (0, 1, 5), (0, 1, 9)), adds(1, (0, 1, 7))),
        function="max",
        needs=_HIVE,
    ),
    AggregationProgram(
        "sums",
        (adds(0, (0, 1, -LARGE)), adds(1, (0, 1, LARGE + 1))),
        function="sum",
        needs=_HIVE,
    ),
    # Winsets made at the same time: the same one, and adjacent ones.
    AggregationProgram(
        "made-twice",
        (adds(0, (0, 0), (2, 0)), adds(1, (2, 1))),
        size=4,
        levels=2,
        winsets_ahead=3,
        needs=_HIVE,
    ),
    # Room: every table is in use, and the output thread releases the first at its second step.
    AggregationProgram(
        "no-place",
        (adds(0, (10, 0), (10, 1)), processes(2)),
        (*_EACH_WINSET, *processes(2)),
        needs=_HIVE,
    ),
    # A search begins at the front while the output thread tries to release it.
    AggregationProgram(
        "let-go",
        (adds(0, (4, 0)), processes(3)),
        _EACH_WINSET[:4] + processes(1),
        needs=_HIVE,
    ),
    # Panes that two windows share: subtracted from running totals, or added up anew.
    AggregationProgram(
        "shared-panes",
        (adds(0, (4, 1, LARGE), (6, 2, 1)), (*adds(1, (7, 1)), *processes(2))),
        (*adds(0, (0, 1, -LARGE), (3, 1, 1)), *adds(1, (1, 1))),
        size=5,
        advance=3,
        function="sum",
        panes_ahead=4,
        needs="panes_ahead",
    ),
    AggregationProgram(
        "shared-panes-largest",
        (adds(0, (4, 1, 7), (6, 2, 9)), (*adds(1, (7, 1, 3)), *processes(2))),
        (*adds(0, (0, 1, 8), (3, 1, 1)), *adds(1, (1, 1, 9))),
        size=5,
        advance=3,
        function="max",
        panes_ahead=4,
        needs="panes_ahead",
    ),
    A_CALL_EACH,
    # A search begins at a winset that another thread has made meanwhile, and the output passed.
    AggregationProgram(
        "begins-at-another-s",
        (adds(1, (4, 1)), (*adds(0, (2, 0)), *closes(0), *processes(2))),
        (*adds(0, (0, 0)), *adds(1, (0, 1))),
        winsets_ahead=3,
        needs=_HIVE,
    ),
    AggregationProgram(
        "deep-to-the-end",
        ((*adds(0, (0, 0), (2, 1)), *closes(0)), adds(1, (2, 1)), processes(2)),
        winsets_ahead=3,
        deep=True,
    ),
)
