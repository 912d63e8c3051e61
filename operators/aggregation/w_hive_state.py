"""The words of a W-Hive: what lies where, who writes it, and what holds over a hive at rest.

The algorithm over them, with its drawing and its numbered invariants, is in ``w_hive``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.aggregation import shared_winsets
from operators.aggregation.plan import (
    AggregationPlan,
    Text,
    check_plan,
    check_text,
    windows_per_tuple,
)
from operators.aggregation.shared_winsets import SharedWinsets, make_shared_winsets
from operators.aggregation.sink import Sink, make_sink
from operators.aggregation.winsets import BITMAP_BITS
from operators.contract import TIMESTAMP_LIMIT, Parameter, UsageError
from operators.core.integers import mix64
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words, whole_lines

NIL = -1
UNPINNED = -1
NOT_BEGUN = -1  # `written` of a thread that has reported nothing yet
PASSED_ALL = TIMESTAMP_LIMIT  # `written` of a thread that has ended
FRONT_WINSET = -1  # number of the node before all winsets

# A node of the list, one a place, and the front.
NUMBER, GENERATION, HEIGHT, USED = 0, 1, 2, 3
LINKS = 4  # level l is word LINKS + l

# What an updating thread alone touches.
EARLIEST = 0  # number of the first winset that its last tuple contributes to
COUNT = 1  # how many it contributes to
LOCATED = 2  # how many of them, from the first one on, stand in the list below
NEXT_CHANGE = 3  # earliest timestamp with other winsets than the last tuple's
LAST_TIMESTAMP = 4
FINGERS = LINE_WORDS  # the last search's node before the place, a word a level

# What the output thread alone touches.
READ_HEAD, OLDEST, BOUNDARY, BOUNDARY_EPOCH, EPOCHS = range(5)

MOST_THREADS = 4096
# A node in the full height at least every so many winsets: what lies between the two heads.
TALL_EVERY = 2

WINSETS_AHEAD = Parameter(
    "winsets_ahead", 3, 1, 1024, "winsets", "a thread's newest winset before the slowest thread's"
)
LEVELS = Parameter("levels", 3, 1, 16, "levels", "height of the tallest node (max_levels)")


class WHiveState(NamedTuple):
    """The words of a W-Hive, grouped by who writes them."""

    nodes: np.ndarray  # [places + 1] nodes; a node is filled by its maker before the CAS links it
    winsets: SharedWinsets  # their tables, by the updating threads
    written: np.ndarray  # [threads] lines; a thread writes, all read: its EARLIEST
    pins: np.ndarray  # [threads] lines; a thread writes, the output thread reads
    private: np.ndarray  # [threads] blocks of private_words; that thread alone
    insert_head: np.ndarray  # [1]; output thread writes, updating threads read
    epoch: np.ndarray  # [1]; output thread writes after insert_head, updating threads read
    reading: np.ndarray  # [1 line]; output thread alone
    found: np.ndarray  # [2 * BITMAP_BITS]; output thread alone, for output_rows
    sink: Sink  # output thread alone
    text_offsets: np.ndarray
    text_bytes: np.ndarray
    function: int
    window_size: int
    window_advance: int
    keys: int
    threads: int
    places: int
    levels: int
    reach: int  # winsets from the slowest thread's first one that may exist
    stride: int  # words of a node
    private_words: int
    window_words: int  # of each of a thread's lists: places, generations, the key's windows


def make_w_hive(
    plan: AggregationPlan, threads: int, text: Text | None, levels: int, winsets_ahead: int
) -> WHiveState:
    """Return a hive without winsets.

    Parameters
    ----------
    plan : AggregationPlan
    threads : int
        Threads that update windows.
    text : Text or None
        For the text functions.
    levels, winsets_ahead : int
        The parameters LEVELS and WINSETS_AHEAD.

    Raises
    ------
    UsageError
        When a number is out of its limits, or the winsets need more memory than the limit.
    """
    plan = check_plan(plan)
    texts = check_text(plan, text)
    if not 1 <= threads <= MOST_THREADS:
        raise UsageError(
            f"w-hive: updating threads must be between 1 and {MOST_THREADS}, received {threads}"
        )
    for parameter, value in ((LEVELS, levels), (WINSETS_AHEAD, winsets_ahead)):
        parameter.check(value)
    windows = windows_per_tuple(plan)
    reach = windows + winsets_ahead
    # Beside the winsets in reach: those between the two heads, the read head's own place, and one
    # that is let go while a thread looks for room (invariant 5).
    places = reach + TALL_EVERY + 1
    stride = whole_lines(LINKS + levels)
    private_words = whole_lines(FINGERS + levels) + whole_lines(3 * windows)
    front = places
    hive = WHiveState(
        nodes=aligned_words((places + 1) * stride),
        winsets=make_shared_winsets(plan, places, threads),
        written=aligned_words(threads * LINE_WORDS),
        pins=aligned_words(threads * LINE_WORDS),
        private=aligned_words(threads * private_words),
        insert_head=aligned_words(LINE_WORDS),
        epoch=aligned_words(LINE_WORDS),
        reading=aligned_words(LINE_WORDS),
        found=aligned_words(2 * BITMAP_BITS),
        sink=make_sink(plan.rows_capacity, plan.winsets_capacity),
        text_offsets=texts.offsets,
        text_bytes=texts.text_bytes,
        function=plan.function,
        window_size=plan.window_size,
        window_advance=plan.window_advance,
        keys=plan.keys,
        threads=threads,
        places=places,
        levels=levels,
        reach=reach,
        stride=stride,
        private_words=private_words,
        window_words=windows,
    )
    words = hive.nodes[front * stride :]
    words[NUMBER], words[HEIGHT], words[USED] = FRONT_WINSET, levels, 1
    words[LINKS : LINKS + levels] = NIL
    hive.written[:] = NOT_BEGUN
    hive.pins[:] = UNPINNED
    hive.insert_head[0] = front
    hive.reading[[READ_HEAD, OLDEST, BOUNDARY]] = front, front, NIL
    return hive


@inlined
def located(hive, own, window):
    """Return the word of a thread's block that holds the place of its `window`-th winset."""
    return own + hive.private_words - 3 * hive.window_words + window


@inlined
def node_height(hive, number, tallest_before):
    """Return full height where the last node of full height is too far back, else a random one."""
    if number - hive.nodes[tallest_before * hive.stride + NUMBER] >= TALL_EVERY:
        return hive.levels
    height = 1
    bits = mix64(number)
    while height < hive.levels and bits & 1 == 0:
        height += 1
        bits >>= 1
    return height


def check_invariants(hive: WHiveState) -> None:
    """Assert the invariants over a hive at rest (plain Python)."""
    nodes = hive.nodes.reshape(-1, hive.stride)
    below = None
    for level in reversed(range(hive.levels)):
        chain = [int(hive.insert_head[0])]
        while (after := int(nodes[chain[-1], LINKS + level])) != NIL:
            chain.append(after)
        numbers = [int(nodes[n, NUMBER]) for n in chain]
        assert numbers == sorted(set(numbers)), f"invariant 1: level {level} has {numbers}"
        assert all(nodes[n, HEIGHT] > level for n in chain), f"invariant 2: level {level}"
        assert below is None or below.issubset(chain), f"invariant 1: level {level} lacks nodes"
        below = set(chain)
    assert nodes[chain[0], HEIGHT] == hive.levels, "invariant 3: the insertion head is not tall"
    read_head = int(hive.reading[READ_HEAD])
    assert read_head in below, "invariant 3: the read head is before the insertion head"
    slowest = min(int(word) for word in hive.written[::LINE_WORDS])
    ahead = [n for n in chain if nodes[n, NUMBER] > nodes[read_head, NUMBER]]
    for node in ahead:
        assert nodes[node, NUMBER] < slowest + hive.reach, "invariant 5: a winset out of reach"
        shared_winsets.check_invariants(hive.winsets, node, int(nodes[node, GENERATION]))
    used = {place for place in range(hive.places) if nodes[place, USED]}
    assert below - {hive.places} <= used, "invariant 4: a node in the list is free"
