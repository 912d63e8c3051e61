"""Panes private to the input threads: no merging, and no word that two threads write for a tuple.

Where the order of tuples inside a window does not matter, there is nothing to merge. Each input
thread aggregates its stream pane by pane, and hands over the aggregates of each pane; the output
thread adds up the panes that all inputs have passed::

    input thread i:   Add, Update     tuple -> private pane
                      (pane ends)     pane -> ring of cells -> header -> handed[i]
    output thread:    Update, Output  cells of all inputs -> totals -> rows

`operators.aggregation.cells` has the panes, `operators.aggregation.panes` makes winsets of them. A
tuple costs a comparison with the pane's end and one cell; the threads meet once a pane.

A pane being filled is dense, and stays in the thread's cache. Only the cells that a tuple has
entered are handed over, contiguously. The output thread reads them twice where they lie: when all
inputs have passed the pane, to add them to the totals, and when the last window of the pane is
output, to subtract them. So it keeps no panes, and an input costs one pane of all keys and a ring
that holds the panes of a window::

       gone                 taken              handed
         |                    |                  |
    .....[ cells in the totals ][ not all passed  ]....    headers and cells, used again in turn

Invariants
----------
1. ``handed`` counts an input's headers. A header, and the cells up to the end of it, are filled
   before ``handed`` counts it, and are not reused before GONE counts it.
2. The input has no tuple before the pane that its last header names as the next one.
3. The output thread takes a pane only if every input has passed it and the oldest pending winset
   contains it: when that winset is output, the totals are complete, and contain nothing else.

Linearization points: between an input and the output thread, the store to ``handed`` and the load
of it. Progress: no operation has a loop that waits for another thread. FULL is the answer
(backpressure) while an input is ``panes_ahead`` ahead or its ring is used up. That ends: all panes
of the slowest input are passed, so that only those of the oldest winset are kept, and for these and
the one that is handed over there is always room.

A stream that ends has passed every pane. An input without tuples holds up the others, as in every
variant, once they are ``panes_ahead`` ahead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.aggregation.cells import (
    Cells,
    cell_bytes,
    make_cells,
    merge_cell,
    move_cell,
    plane_of,
    put,
    take_away_cell,
)
from operators.aggregation.family import AggregationOperations
from operators.aggregation.functions import NAMES, ORDER_SENSITIVE, UNORDERED
from operators.aggregation.panes import (
    NEWEST,
    PaneState,
    begin_pane,
    clear_totals,
    end_of_pane,
    end_pane,
    is_empty,
    leap_to,
    make_panes,
    pane_of,
    put_out_totals,
)
from operators.aggregation.plan import AggregationPlan, Text, check_plan, check_text
from operators.aggregation.sink import NOT_COUNTED
from operators.aggregation.winsets import STATE_BYTES_LIMIT
from operators.contract import (
    ACCEPTED,
    END,
    FULL,
    NOT_READY,
    OUT_OF_ORDER,
    READY,
    TIMESTAMP_LIMIT,
    Look,
    Parameter,
    UsageError,
    Variant,
)
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, load, store
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, WORD_BYTES, aligned_words
from operators.core.marks import mark

# Words private to an input thread.
LAST_TIMESTAMP = 0  # of the stream; the end of time once it is closed
BOUNDARY = 1  # where the pane being filled ends
PANE = 2  # number of that pane
HANDED = 3  # panes handed over
SEEN_TAKEN = 4  # panes handed over that are known to be taken
SEEN_GONE = 5  # panes handed over that are known to be released
POSITION = 6  # position of the next cell in the ring of cells; it only grows
FREE_TO = 7  # cells before this position are known to be free

# A header: a pane that an input thread has handed over.
HEADER_PANE = 0
HEADER_END = 1  # position after the last cell; the first is where the previous header ended
HEADER_NEXT = 2  # the pane the input has gone on to: no earlier tuple follows
HEADER_WORDS = 4

# Words by which the output thread informs an input.
TAKEN = 0  # panes that are in the totals
GONE = 1  # panes that are released

# Words of the output thread about an input, from that line on.
SEEN = 2  # panes that are known to be handed over
PASSED = 3  # the pane the input has gone on to
TAKEN_TO = 4  # position after the last cell taken
GONE_TO = 5  # position after the last cell released

# Beyond every pane: the next pane of a closed input.
NO_MORE = (1 << 63) - 1

# Cells of an input's ring, unless the panes of a window need more, or all panes fewer: about a
# megabyte. Half and twice as many made 1.01 [0.93, 1.09] and 1.02 [1.00, 1.06] times as many
# tuples/s on K-OI with 2 inputs, 1.07 [1.02, 1.16] and 1.02 [0.94, 1.17] with 20 (as below).
ENOUGH_CELLS = 1 << 16

# Of panes ahead 8 and 32 made 1.00 and 1.03 times as many tuples/s on K-OI with 2 inputs, 0.99 and
# 1.08 [1.02, 1.14] with 20 (three pairs in turns, two cores of an EPYC).
PARAMETERS = (
    Parameter(
        "panes_ahead",
        16,
        2,
        1 << 20,
        "panes",
        "an input's panes that not all have passed",
        bounds_flight=True,
    ),
)


class PrivatePanesState(NamedTuple):
    """Panes on the way from the input threads to the output thread."""

    own: np.ndarray  # [inputs] lines; only that input
    filling: Cells  # one pane an input; only that input
    headers: np.ndarray  # [inputs * room * HEADER_WORDS]; filled before `handed` counts them
    ring: Cells  # one pane an input, of `ring.plane` cells; filled as the headers are
    handed: np.ndarray  # [inputs] lines; input writes, output reads: panes handed over
    receipts: np.ndarray  # [inputs] lines; output writes, input reads: TAKEN and GONE
    reading: np.ndarray  # [inputs] lines; only the output thread
    windows: PaneState  # only the output thread
    inputs: int
    panes_ahead: int
    room: int  # headers of an input


def make_state(
    plan: AggregationPlan,
    inputs: int,
    panes_ahead: int = PARAMETERS[0].default,
    text: Text | None = None,
) -> PrivatePanesState:
    """Allocate the panes of each input and the output thread's totals, all of them empty.

    Parameters
    ----------
    plan : AggregationPlan
    inputs : int
        At least 1.
    panes_ahead : int
        Panes of an input that some other has not passed, including the one being filled.
    text : Text, optional
        Needed for the text functions.

    Raises
    ------
    UsageError
        When the function depends on the order of tuples, a parameter is out of range, texts are
        needed and missing, or the panes need more memory than the limit.
    """
    plan = check_plan(plan)
    if NAMES[plan.function] in ORDER_SENSITIVE:
        raise UsageError(
            f"private-panes does not process tuples in order, and {NAMES[plan.function]} depends on"
            " it; choose tumlsc-panes, or a function that does not"
        )
    if inputs < 1:
        raise UsageError(f"inputs must be at least 1, received {inputs}")
    PARAMETERS[0].check(panes_ahead)
    windows = make_panes(plan, text, ring=False)
    room = panes_ahead + windows.panes_of_window
    ring = ring_cells(plan.keys, windows.panes_of_window, room)
    needed = (ring + plane_of(plan.keys)) * cell_bytes(plan.function)
    needed = inputs * (needed + room * HEADER_WORDS * WORD_BYTES)
    if needed > STATE_BYTES_LIMIT:
        raise UsageError(
            f"{inputs} inputs with panes of {plan.keys} keys need {needed >> 20} MiB, and the limit"
            f" is {STATE_BYTES_LIMIT >> 20} MiB; make the window advance larger, the window"
            " smaller, or lower the number of keys, of inputs, or panes_ahead"
        )
    texts = check_text(plan, text)
    return PrivatePanesState(
        own=aligned_words(inputs * LINE_WORDS),
        filling=make_cells(plan.function, texts, inputs, plane_of(plan.keys)),
        headers=aligned_words(inputs * room * HEADER_WORDS),
        ring=make_cells(plan.function, texts, inputs, ring),
        handed=aligned_words(inputs * LINE_WORDS),
        receipts=aligned_words(inputs * LINE_WORDS),
        reading=aligned_words(inputs * LINE_WORDS),
        windows=windows,
        inputs=inputs,
        panes_ahead=panes_ahead,
        room=room,
    )


def ring_cells(keys: int, panes_of_window: int, room: int) -> int:
    """Return the cells of an input's ring, a power of two.

    The panes of a window fit whatever their content. Further panes, up to one for each header, are
    expected to hold few of many keys.
    """
    needed = min(room * keys, max(panes_of_window * keys, ENOUGH_CELLS))
    return 1 << (needed - 1).bit_length()


# --- an input thread -----------------------------------------------------------------------------


@inlined
def add(state, stream, timestamp, key, value):
    """Add a tuple to the stream's pane: ACCEPTED, FULL or OUT_OF_ORDER."""
    own = stream * LINE_WORDS
    if timestamp < state.own[own + LAST_TIMESTAMP] or timestamp >= state.own[own + BOUNDARY]:
        status = go_on_to(state, stream, own, timestamp)
        if status != ACCEPTED:
            return status
    state.own[own + LAST_TIMESTAMP] = timestamp
    put(state.filling, stream, key, value)
    return ACCEPTED


@inlined
def close(state, stream):
    """End a stream: it has passed every pane."""
    own = stream * LINE_WORDS
    if state.own[own + LAST_TIMESTAMP] < TIMESTAMP_LIMIT:
        if not hand_over(state, stream, own, NO_MORE):
            return FULL
        # Later tuples are out of order.
        state.own[own + LAST_TIMESTAMP] = TIMESTAMP_LIMIT
        state.own[own + BOUNDARY] = 0
    return ACCEPTED


@inlined
def go_on_to(state, stream, own, timestamp):
    """Hand the pane over and begin the one of `timestamp`, if that is a later one."""
    if timestamp < state.own[own + LAST_TIMESTAMP] or timestamp >= TIMESTAMP_LIMIT:
        return OUT_OF_ORDER
    pane = pane_of(state.windows, timestamp)
    if pane != state.own[own + PANE] and not hand_over(state, stream, own, pane):
        mark("private_panes: full")
        return FULL
    state.own[own + PANE] = pane
    state.own[own + BOUNDARY] = end_of_pane(state.windows, pane)
    return ACCEPTED


@inlined
def hand_over(state, stream, own, following):
    """Move the pane's cells to the ring and let ``handed`` count it; False without room."""
    entered = state.filling.entered[own]
    if not has_room(state, own, entered):
        look_for_room(state, stream, own)
        if not has_room(state, own, entered):
            return False
    position = state.own[own + POSITION]
    first = stream * state.filling.plane
    for at in range(first, first + entered):
        key = np.int64(state.filling.keys[np.uint64(at)])
        move_cell(state.ring, position & (state.ring.plane - 1), state.filling, stream, key)
        position += 1
    state.filling.entered[own] = 0
    state.own[own + POSITION] = position
    handed = state.own[own + HANDED]
    header = header_of(state, stream, handed)
    state.headers[header + HEADER_PANE] = state.own[own + PANE]
    state.headers[header + HEADER_END] = position
    state.headers[header + HEADER_NEXT] = following
    state.own[own + HANDED] = handed + 1
    # Keeps the header and the cells before the count that publishes them (invariant 1). Pairs with
    # the load in look. Linearizes the end of a pane.
    store(state.handed, own, handed + 1, RELEASE)
    return True


@inlined
def header_of(state, stream, number):
    """Return the index of a stream's header by its number."""
    return (stream * state.room + number % state.room) * HEADER_WORDS


@inlined
def has_room(state, own, cells):
    """Say whether another pane, of `cells` cells, is known to have room."""
    handed = state.own[own + HANDED]
    # The pane that begins next counts among those ahead.
    if handed + 1 - state.own[own + SEEN_TAKEN] >= state.panes_ahead:
        return False
    if handed - state.own[own + SEEN_GONE] >= state.room:
        return False
    return state.own[own + POSITION] + cells - state.own[own + FREE_TO] <= state.ring.plane


@inlined
def look_for_room(state, stream, own):
    """Load how many panes the output thread has taken and released."""
    # RELAXED: it only bounds how far an input is ahead, and releases nothing.
    state.own[own + SEEN_TAKEN] = load(state.receipts, own + TAKEN, RELAXED)
    # Keeps this before the reuse of the memory of those panes: the output thread has finished with
    # them. Pairs with the store in let_go_panes (invariant 1).
    gone = load(state.receipts, own + GONE, ACQUIRE)
    if gone > state.own[own + SEEN_GONE]:
        state.own[own + SEEN_GONE] = gone
        last = header_of(state, stream, gone - 1)
        state.own[own + FREE_TO] = state.headers[last + HEADER_END]


# --- the output thread ---------------------------------------------------------------------------


@inlined
def process(state):
    """Output the next winset if all inputs have passed it."""
    windows = state.windows
    passed = look(state)
    while is_empty(windows):
        pane = oldest_waiting(state)
        if pane >= passed:
            return END if passed == NO_MORE else NOT_READY
        leap_to(windows, pane)
        take_panes(state, min(passed, end_pane(windows)))
        # Any panes before it are without a tuple.
        let_go_panes(state, begin_pane(windows))
    take_panes(state, min(passed, end_pane(windows)))
    if passed < end_pane(windows):
        return NOT_READY
    if windows.runs == 0:
        combine_panes(state)
    status = put_out_totals(windows, NOT_COUNTED)
    if status == READY:
        let_go_panes(state, begin_pane(windows))
    return status


@inlined
def look(state):
    """Load the headers handed over; return the first pane that some input may not have passed.

    An input that has handed over no header may still have a tuple of pane 0.
    """
    passed = NO_MORE
    for stream in range(state.inputs):
        mine = stream * LINE_WORDS
        # Keeps the reads of the headers and cells behind the count that publishes them. Pairs with
        # the store in hand_over (invariant 1).
        handed = load(state.handed, mine, ACQUIRE)
        if handed != state.reading[mine + SEEN]:
            state.reading[mine + SEEN] = handed
            newest = header_of(state, stream, handed - 1)
            state.reading[mine + PASSED] = state.headers[newest + HEADER_NEXT]
        passed = min(passed, state.reading[mine + PASSED])
    return passed


@inlined
def oldest_waiting(state):
    """Return the oldest pane that is handed over and not taken, or NO_MORE."""
    oldest = NO_MORE
    for stream in range(state.inputs):
        mine = stream * LINE_WORDS
        if state.reading[mine + TAKEN] < state.reading[mine + SEEN]:
            header = header_of(state, stream, state.reading[mine + TAKEN])
            oldest = min(oldest, state.headers[header + HEADER_PANE])
    return oldest


@inlined
def take_panes(state, before):
    """Add the panes before `before` of every input to the totals."""
    for stream in range(state.inputs):
        mine = stream * LINE_WORDS
        taken = state.reading[mine + TAKEN]
        while taken < state.reading[mine + SEEN]:
            header = header_of(state, stream, taken)
            if state.headers[header + HEADER_PANE] >= before:
                break
            take_pane(state, stream, mine, header)
            taken += 1
            state.reading[mine + TAKEN] = taken
            # RELAXED: see look_for_room.
            store(state.receipts, mine + TAKEN, taken, RELAXED)


@inlined
def take_pane(state, stream, mine, header):
    """Add a pane to the totals if they run."""
    windows = state.windows
    first = state.reading[mine + TAKEN_TO]
    end = state.headers[header + HEADER_END]
    if end > first:
        pane = state.headers[header + HEADER_PANE]
        windows.control[NEWEST] = max(windows.control[NEWEST], pane)
    if windows.runs == 1:
        add_cells(state, stream, first, end)
    state.reading[mine + TAKEN_TO] = end


@inlined
def add_cells(state, stream, first, end):
    """Add cells of a stream's ring to the totals."""
    ring = state.ring
    for position in range(first, end):
        at = position & (ring.plane - 1)
        key = np.int64(ring.keys[np.uint64(stream * ring.plane + at)])
        merge_cell(state.windows.totals, key, ring, stream, at)


@inlined
def combine_panes(state):
    """Compute the totals anew, from all panes that are taken."""
    clear_totals(state.windows)
    for stream in range(state.inputs):
        mine = stream * LINE_WORDS
        first = state.reading[mine + GONE_TO]
        add_cells(state, stream, first, state.reading[mine + TAKEN_TO])


@inlined
def let_go_panes(state, before):
    """Subtract the panes before `before` from the totals, and give their room back."""
    for stream in range(state.inputs):
        mine = stream * LINE_WORDS
        gone = state.reading[mine + GONE]
        while gone < state.reading[mine + TAKEN]:
            header = header_of(state, stream, gone)
            if state.headers[header + HEADER_PANE] >= before:
                break
            end = state.headers[header + HEADER_END]
            if state.windows.runs == 1:
                take_cells_away(state, stream, state.reading[mine + GONE_TO], end)
            state.reading[mine + GONE_TO] = end
            gone += 1
            state.reading[mine + GONE] = gone
            # Keeps the reads of the header and the cells before their reuse. Pairs with the load in
            # look_for_room (invariant 1).
            store(state.receipts, mine + GONE, gone, RELEASE)


@inlined
def take_cells_away(state, stream, first, end):
    """Subtract cells of a stream's ring from the totals."""
    ring = state.ring
    for position in range(first, end):
        at = position & (ring.plane - 1)
        key = np.int64(ring.keys[np.uint64(stream * ring.plane + at)])
        take_away_cell(state.windows.totals, key, ring, stream, at)


VARIANT = Variant(
    id="private-panes",
    family="aggregation",
    title="Private panes",
    paper="multiway_aggregation",
    section="extends 5.7",
    operations=AggregationOperations(
        make_state, add, close, process, counts_tuples="input", functions=UNORDERED
    ),
    order="window start, then key",
    progress="lock-free",
    threads={"input": "one per stream", "output": "one"},
    capacity="panes_ahead panes an input; a full input is told FULL",
    parameters=PARAMETERS,
    extended=True,
    look=Look("black", "*"),
    extends={"multiway_aggregation": ("16",)},
)
