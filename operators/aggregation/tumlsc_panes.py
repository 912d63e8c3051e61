"""TuMLSC on panes: each tuple updates one pane, however many windows it contributes to.

TuMLSC ("Efficient data streaming multiway aggregation", section 5.4) updates every window of a
tuple, ten or twenty in the paper's queries. Here overlapping windows share panes::

    input thread i:   Add, S-Merge      -> T-Gate
    output thread:    Update, Output    T-Gate -> ready tuple -> pane -> winsets -> rows

`operators.gate.t_gate` has the merged list, `operators.aggregation.panes` makes winsets of panes,
and `one_output_thread` joins the gate with this module: a ring with the panes of a winset, and the
output thread's progress through time. The tuples are processed in the total order, so that every
function is offered. A tuple without room for the winsets it releases is held, as in
`update_output`. Progress is the gate's, lock-free.

Invariants
----------
1. A tuple enters a pane p with begin_pane <= p < end_pane: the oldest pending winset contains it.
   All other panes of the ring are empty.
2. Where totals run, they are the sum of the panes from begin_pane to ``FOLDED``.
"""

from __future__ import annotations

import numpy as np

from operators.aggregation.cells import clear_cell, merge_cell, put, take_away_cell
from operators.aggregation.one_output_thread import OutputThread, one_output_thread
from operators.aggregation.panes import (
    NEWEST,
    OTHERS,
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
from operators.contract import END, READY, Look, Variant
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS
from operators.gate import t_gate

# More words of `PaneState.control`.
FOLDED = OTHERS  # panes before this one are in the totals
SLOT = OTHERS + 1  # slot of the current tuple's pane in the ring
CURRENT = OTHERS + 2  # that pane
BOUNDARY = OTHERS + 3  # end of that pane: the earliest timestamp that needs `move_to`
HELD = OTHERS + 4  # 1 while the current tuple waits for room
PROCESSED = OTHERS + 5  # tuples processed


@inlined
def is_holding(windows):
    """Say whether the tuple in `current` still waits to be processed."""
    return windows.control[HELD] == 1


@inlined
def update_output(windows):
    """Process the tuple in `current`: READY, or why it is held (ROWS_FULL, WINSETS_FULL)."""
    control = windows.control
    current = windows.current
    if current[0] >= control[BOUNDARY]:
        status = move_to(windows, pane_of(windows, current[0]))
        if status != READY:
            control[HELD] = 1
            return status
        control[HELD] = 0
        control[BOUNDARY] = end_of_pane(windows, control[CURRENT])
    if put(windows.panes, control[SLOT], current[2], current[3]):
        control[NEWEST] = control[CURRENT]
    control[PROCESSED] += 1
    return READY


@inlined
def move_to(windows, pane):
    """Output the winsets that end at or before `pane`, and make it the current one."""
    control = windows.control
    while not is_empty(windows) and end_pane(windows) <= pane:
        status = put_out(windows, control[PROCESSED])
        if status != READY:
            return status
    if is_empty(windows):
        leap_to(windows, pane)
        control[FOLDED] = begin_pane(windows)
    control[CURRENT] = pane
    control[SLOT] = slot_of(windows, pane)
    return READY


@inlined
def end_of_streams(windows):
    """Output the remaining winsets: END, or ROWS_FULL or WINSETS_FULL to be called again."""
    while not is_empty(windows):
        status = put_out(windows, -1)
        if status != READY:
            return status
    return END


@inlined
def slot_of(windows, pane):
    """Return the slot of a pane in the ring."""
    return pane % windows.panes_of_window


@inlined
def put_out(windows, processed):
    """Output the oldest winset, which is complete, and empty the panes of no later winset."""
    control = windows.control
    if windows.runs == 1:
        for pane in range(control[FOLDED], end_pane(windows)):
            add_pane(windows, slot_of(windows, pane))
        control[FOLDED] = end_pane(windows)
    else:
        clear_totals(windows)
        for pane in range(begin_pane(windows), end_pane(windows)):
            add_pane(windows, slot_of(windows, pane))
    first = begin_pane(windows)
    status = put_out_totals(windows, processed)
    if status == READY:
        for pane in range(first, begin_pane(windows)):
            let_go(windows, slot_of(windows, pane))
    return status


@inlined
def add_pane(windows, slot):
    """Add a pane to the totals."""
    panes = windows.panes
    first = slot * panes.plane
    for at in range(first, first + panes.entered[slot * LINE_WORDS]):
        key = np.int64(panes.keys[np.uint64(at)])
        merge_cell(windows.totals, key, panes, slot, key)


@inlined
def let_go(windows, slot):
    """Empty a pane, and subtract it from totals that run."""
    panes = windows.panes
    first = slot * panes.plane
    for at in range(first, first + panes.entered[slot * LINE_WORDS]):
        key = np.int64(panes.keys[np.uint64(at)])
        if windows.runs == 1:
            take_away_cell(windows.totals, key, panes, slot, key)
        clear_cell(panes, slot, key)
    panes.entered[slot * LINE_WORDS] = 0


OUTPUT_THREAD = OutputThread(make_panes, is_holding, update_output, end_of_streams)

VARIANT = Variant(
    id="tumlsc-panes",
    family="aggregation",
    title="TuMLSC, panes",
    paper="multiway_aggregation",
    section="extends 5.4",
    operations=one_output_thread(t_gate.VARIANT.operations, OUTPUT_THREAD),
    order="window start, then key",
    progress="lock-free",
    threads={"input": "one per stream", "output": "one"},
    capacity="ahead tuples an input; a full input is told FULL",
    parameters=t_gate.VARIANT.parameters,
    extended=True,
    look=Look("#003f63", "X"),
    extends={"multiway_aggregation": ("14", "16")},
)
