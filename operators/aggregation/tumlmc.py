"""TuMLMC: a tuple merged list with multiple consumers, update threads that share the windows.

"Efficient data streaming multiway aggregation", sections 4 and 5.4, Algorithm 3, Figs. 2c and 5::

    input thread i:    Add, S-Merge   -> T-Gate
    update thread j:   Update            T-Gate -> ready tuple -> windows of its keys -> W-Hive
    output thread:     Output                      W-Hive -> winset that all have passed -> rows

Each update thread reads *every* ready tuple as a reader of the T-Gate and updates the windows of
the thread's keys only, assigned by a hash; so a key's tuples are processed in order, by one thread,
and order-sensitive functions are right. The thread publishes progress on the tuples of others too:
otherwise a thread without keys would hold every winset for ever. No winset is output before every
update thread has passed it.

`operators.gate.t_gate` has the merged list, `operators.aggregation.w_hive` the winsets. Guarantees:
the rows of `operators.aggregation.reference`, in the same order, whatever the timing. A tuple that
finds no room for a new winset is *held*: the thread retries it. Progress is that of the two
structures, lock-free.

# ASSUME: the paper does not say which hash assigns keys; here it is SplitMix64's finalizer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from operators.aggregation.family import AggregationOperations
from operators.aggregation.functions import FIRST
from operators.aggregation.plan import AggregationPlan, Text
from operators.aggregation.w_hive import (
    LEVELS,
    WINSETS_AHEAD,
    WHiveState,
    has_moved_on,
    make_update_windows,
    make_w_hive,
    output_next_winset,
    pass_all,
    turn_to,
)
from operators.aggregation.window_functions import (
    count_owned,
    extreme_owned,
    first_owned,
    make_update,
    sum_owned,
    text_owned,
)
from operators.contract import (
    END,
    FULL,
    NOT_READY,
    READY,
    Look,
    Parameter,
    Variant,
)
from operators.core.integers import mix64
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.gate import t_gate

insert_tuple = t_gate.VARIANT.operations.insert_tuple
get_next_ready_tuple = t_gate.VARIANT.operations.get_next_ready_tuple
close_source = t_gate.VARIANT.operations.close_source

# Words of an update thread's block: the current tuple (timestamp, source, key, value), then
HELD = 4  # 1 while that tuple waits for room
ENDED = 5  # 1 once the thread has published that it has ended
HASH_BITS = 31

update_others = make_update(count_owned, text_owned, sum_owned, extreme_owned)
update_firsts = make_update_windows(first_owned)


class TuMLMCState(NamedTuple):
    """The two structures, and the current tuple of each update thread."""

    gate: Any  # TGateState; update threads are its readers
    windows: WHiveState
    in_hand: np.ndarray  # [update threads] lines; only that thread
    update_threads: int


def make_state(
    plan: AggregationPlan,
    inputs: int,
    ahead: int,
    update_threads: int,
    levels: int,
    winsets_ahead: int,
    text: Text | None = None,
) -> TuMLMCState:
    """Return the state of `inputs` open inputs.

    Parameters
    ----------
    plan : AggregationPlan
    inputs, update_threads : int
        At least one each.
    ahead : int
        Tuples of an input that some update thread has not read.
    levels : int
        max_levels, of T-Gate and W-Hive alike.
    winsets_ahead : int
        Parameter of the W-Hive.
    text : Text, optional
        For the text functions.

    Raises
    ------
    UsageError
        When a parameter is out of range, or texts are needed and missing.
    """
    windows = make_w_hive(plan, update_threads, text, levels, winsets_ahead)
    gate = t_gate.VARIANT.operations.make_state(inputs, update_threads, ahead, levels=levels)
    in_hand = aligned_words(update_threads * LINE_WORDS)
    return TuMLMCState(gate, windows, in_hand, update_threads)


@inlined
def add(state, stream, timestamp, key, value):
    """Insert a tuple into the T-Gate: ACCEPTED, FULL or OUT_OF_ORDER. By the input thread."""
    return insert_tuple(state.gate, stream, timestamp, key, value)


@inlined
def close(state, stream):
    """Say that the stream delivers no more. By the stream's input thread."""
    return close_source(state.gate, stream)


@inlined
def update(state, thread):
    """Process an update thread's part of a ready tuple: READY, NOT_READY or END (Algorithm 3)."""
    mine = thread * LINE_WORDS
    in_hand = state.in_hand
    if in_hand[mine + HELD] == 0:
        status = get_next_ready_tuple(state.gate, thread, in_hand[mine : mine + 4])
        if status != READY:
            if status == END and in_hand[mine + ENDED] == 0:
                in_hand[mine + ENDED] = 1
                pass_all(state.windows, thread)
            return status
    hive = state.windows
    if has_moved_on(hive, thread, in_hand[mine]):
        turn_to(hive, thread, in_hand[mine])
    key = in_hand[mine + 2]
    in_hand[mine + HELD] = 0
    if update_thread_of(key, state.update_threads) == thread:
        if update_own(hive, thread, key, in_hand[mine + 3]) == FULL:
            in_hand[mine + HELD] = 1
            return NOT_READY
    return READY


@inlined
def update_thread_of(key, update_threads):
    """Return the thread that updates the windows of `key`."""
    return ((mix64(key) & ((1 << HASH_BITS) - 1)) * update_threads) >> HASH_BITS


@inlined
def update_own(hive, thread, key, value):
    """Add a tuple to the windows of its key, for any function: ACCEPTED or FULL."""
    if hive.function == FIRST:
        return update_firsts(hive, thread, key, value)
    return update_others(hive, thread, key, value)


@inlined
def process(state):
    """Output one winset, by the output thread."""
    return output_next_winset(state.windows)


VARIANT = Variant(
    id="tumlmc",
    family="aggregation",
    title="TuMLMC",
    paper="multiway_aggregation",
    section="5.4, Algorithm 3",
    operations=AggregationOperations(
        make_state, add, close, process, update=update, counts_tuples="update"
    ),
    order="window start, then key",
    progress="lock-free",
    threads={"input": "one per stream", "update": "any number", "output": "one"},
    capacity="ahead tuples an input; a full input is told FULL",
    parameters=(
        *(p for p in t_gate.VARIANT.parameters if p.name != LEVELS.name),
        # 1 and 4 make 0.98 and 0.87 times as many tuples/s on K-OI, 0.78 and 0.85 on f-OS, with 2
        # inputs: three pairs, two cores of an EPYC. Figures 28 to 33 of the paper sweep them.
        Parameter("update_threads", 2, 1, 64, "threads", "threads that update windows"),
        LEVELS,
        WINSETS_AHEAD,
    ),
    look=Look("purple", "v", "dense"),
)
