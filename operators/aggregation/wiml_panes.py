"""WiML on panes: each tuple updates one pane that all inputs share, however many windows it is in.

WiML ("Efficient data streaming multiway aggregation", section 5.7) updates every window of a tuple
by atomic steps, ten or twenty windows in the paper's queries. Here the paper's W-Hive holds *panes*
(see `panes`) as its winsets. The output thread takes the panes that all inputs have passed and
makes windows of them::

    input thread i:   Add, S-Merge, Update   tuple -> its pane              W-Hive of panes
    output thread:    Output                 pane that all have passed -> ring -> totals -> rows

So a tuple costs the atomic steps of one window, and a text is scanned once; an input defers updates
by a few tuples, as `wiml_deferred` does, since the cache line of a pane's window mostly has to come
from another core. The cost of the output thread depends on the keys of a pane, not on the tuples:
it moves the pane to a private ring, as in `tumlsc_panes`, adds it to the running totals and
subtracts it later.

Guarantees: the rows of `operators.aggregation.reference`, in the same order, with any timing. An
order-sensitive function is refused. Progress is the W-Hive's, lock-free.

Invariants, in addition to those of `w_hive`, `wiml_deferred` and `tumlsc_panes`:

1. A pane is moved only when every input has passed it, and only when the oldest pending winset
   contains it: every winset that ends before the pane is output.
2. A winset is output only when every input has passed the last pane of it, and all panes of it have
   been moved: those before the pane that the slowest input has published are in the list by then.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from operators.aggregation import wiml_deferred
from operators.aggregation.cells import fill_cell
from operators.aggregation.family import AggregationOperations
from operators.aggregation.functions import NAMES, ORDER_SENSITIVE, UNORDERED
from operators.aggregation.panes import (
    NEWEST,
    PaneState,
    begin_pane,
    end_of_pane,
    end_pane,
    is_empty,
    leap_to,
    make_panes,
    pane_of,
)
from operators.aggregation.plan import AggregationPlan, Text, check_plan
from operators.aggregation.shared_winsets import A, B, N, find_all, present_at
from operators.aggregation.sink import NOT_COUNTED
from operators.aggregation.tumlsc_panes import FOLDED, put_out, slot_of
from operators.aggregation.w_hive import (
    GENERATION,
    LEVELS,
    NIL,
    NUMBER,
    PASSED_ALL,
    WHiveState,
    first_before,
    has_moved_on,
    let_go,
    make_w_hive,
    node_at,
    slowest,
    step_past,
    turn_to_winsets,
)
from operators.aggregation.wiml import end, refuse_before, refuses
from operators.aggregation.wiml_deferred import Deferred, defer, make_deferred, update_deferred
from operators.aggregation.winsets import BITMAP_BITS
from operators.contract import (
    ACCEPTED,
    END,
    NOT_READY,
    OUT_OF_ORDER,
    READY,
    Look,
    Parameter,
    UsageError,
    Variant,
)
from operators.core.jit import inlined

# As many as WiML's winsets_ahead. 2 and 6 made 1.04 and 1.12 [1.08, 1.20] times as many tuples/s
# on K-OI with 2 inputs, 0.99 and 1.05 [1.00, 1.12] with 20 (three pairs in turns, two cores of an
# EPYC).
PANES_AHEAD = Parameter(
    "panes_ahead",
    3,
    1,
    1024,
    "panes",
    "an input's newest pane before the slowest input's",
    bounds_flight=True,
)
# A tuple updates one cache line of a pane, and several in WiML. 4, 8 and 32 made 0.83 [0.73,
# 1.00], 0.98 [0.92, 1.07] and 1.04 [0.87, 1.18] times as many tuples/s on K-OI with 2 inputs, 1.04
# [0.87, 1.22], 0.94 [0.72, 1.21] and 1.03 [0.88, 1.34] with 20 (five pairs in turns, same machine).
DEFERRED = replace(wiml_deferred.DEFERRED, default=16)


class WiMLPanesState(NamedTuple):
    """Panes still being updated, shared by the threads, and those that all inputs have passed."""

    hive: WHiveState  # the winsets are panes; input threads number its updating threads
    deferred: Deferred  # each block private to the input thread
    windows: PaneState  # only the output thread


def make_state(
    plan: AggregationPlan,
    inputs: int,
    levels: int = LEVELS.default,
    panes_ahead: int = PANES_AHEAD.default,
    deferred: int = DEFERRED.default,
    text: Text | None = None,
) -> WiMLPanesState:
    """Return the state of `inputs` open inputs.

    Parameters
    ----------
    plan : AggregationPlan
    inputs : int
    levels, panes_ahead : int
        Parameters of the W-Hive.
    deferred : int
        Tuples that an input defers.
    text : Text, optional
        For the text functions.

    Raises
    ------
    UsageError
        When the function depends on the order of tuples, a parameter is out of range, or the panes
        need more memory than the limit.
    """
    plan = check_plan(plan)
    if NAMES[plan.function] in ORDER_SENSITIVE:
        raise UsageError(
            f"wiml-panes does not sort tuples, and {NAMES[plan.function]} depends on their order;"
            f" take tumlsc-panes, or one of: {', '.join(UNORDERED)}"
        )
    PANES_AHEAD.check(panes_ahead)
    # A tuple is in one of the hive's winsets, numbered by `pane_of`; the hive outputs no rows.
    of_panes = plan._replace(window_size=plan.window_advance, rows_capacity=0, winsets_capacity=1)
    hive = make_w_hive(of_panes, inputs, text, levels, panes_ahead)
    return WiMLPanesState(hive, make_deferred(inputs, deferred), make_panes(plan, text))


@inlined
def add(state, stream, timestamp, key, value):
    """Update the pane of a tuple: ACCEPTED, FULL or OUT_OF_ORDER. By the stream's input thread."""
    hive = state.hive
    if refuses(hive, stream, timestamp):
        return OUT_OF_ORDER
    moved_on = has_moved_on(hive, stream, timestamp)
    update_deferred(hive, state.deferred, stream, moved_on)
    if moved_on:
        pane = pane_of(state.windows, timestamp)
        turn_to_winsets(hive, stream, pane, pane, end_of_pane(state.windows, pane))
    # Also when the answer is FULL.
    refuse_before(hive, stream, timestamp)
    return defer(hive, state.deferred, stream, key, value)


@inlined
def close(state, stream):
    """Say that the stream delivers no more: ACCEPTED. Called by its input thread."""
    update_deferred(state.hive, state.deferred, stream, True)
    end(state.hive, stream)
    return ACCEPTED


@inlined
def process(state):
    """Move one pane, or output one winset: READY, or the reason why not. By the output thread."""
    hive, windows = state.hive, state.windows
    let_go(hive)
    # Before the list is read (2).
    passed = slowest(hive)
    place = first_before(hive, passed)
    if place == NIL:
        if is_empty(windows):
            return END if passed == PASSED_ALL else NOT_READY
        if end_pane(windows) > passed:
            return NOT_READY
        return put_out(windows, NOT_COUNTED)
    pane = hive.nodes[node_at(hive, place) + NUMBER]
    if is_empty(windows):
        leap_to(windows, pane)
        windows.control[FOLDED] = begin_pane(windows)
    elif end_pane(windows) <= pane:
        return put_out(windows, NOT_COUNTED)
    move_pane(hive, windows, place, slot_of(windows, pane))
    windows.control[NEWEST] = pane
    step_past(hive, place)
    return READY


@inlined
def move_pane(hive, windows, place, slot):
    """Move the content of a pane of the hive to a slot of the ring, and clear the bitmap."""
    winsets = hive.winsets
    generation = hive.nodes[node_at(hive, place) + GENERATION]
    for word in range(winsets.bitmap_words):
        at = present_at(winsets, place, word)
        bits = winsets.present[at]
        if bits == 0:
            continue
        winsets.present[at] = 0
        first_key = word * BITMAP_BITS
        for each in range(find_all(winsets, place, generation, first_key, bits, hive.found)):
            node = hive.found[each]
            low = winsets.words[node + A] if winsets.sums > 0 else 0
            high = winsets.words[node + B] if winsets.sums > 1 else 0
            key = first_key + hive.found[BITMAP_BITS + each]
            fill_cell(windows.panes, slot, key, winsets.words[node + N], low, high)


VARIANT = Variant(
    id="wiml-panes",
    family="aggregation",
    title="WiML, panes",
    paper="multiway_aggregation",
    section="extends 5.7",
    operations=AggregationOperations(
        make_state, add, close, process, counts_tuples="input", functions=UNORDERED
    ),
    order="window start, then key",
    progress="lock-free",
    threads={"input": "one per stream", "output": "one"},
    capacity="panes_ahead panes before the slowest input; an input further ahead is told FULL",
    parameters=(LEVELS, PANES_AHEAD, DEFERRED),
    extended=True,
    look=Look("#66c5a7", "v"),
    extends={"multiway_aggregation": ("16",)},
)
