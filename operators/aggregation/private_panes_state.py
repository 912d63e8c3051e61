"""The words of `private_panes`: what lies where, and who writes them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.aggregation.cells import Cells, cell_bytes, make_cells, plane_of
from operators.aggregation.functions import NAMES, ORDER_SENSITIVE
from operators.aggregation.panes import PaneState, make_panes
from operators.aggregation.plan import AggregationPlan, Text, check_plan, check_text
from operators.aggregation.winsets import STATE_BYTES_LIMIT
from operators.contract import Parameter, UsageError
from operators.core.layout import LINE_WORDS, WORD_BYTES, aligned_words

# What an input thread alone touches.
LAST_TIMESTAMP = 0  # of its stream; the end of all times once it is closed
BOUNDARY = 1  # where the pane being filled ends
PANE = 2  # number of that pane
HANDED = 3  # panes handed over
SEEN_TAKEN = 4  # of those, how many are known to be taken
SEEN_GONE = 5  # and how many are known to be let go
POSITION = 6  # where the next cell goes in the ring of cells, counted for ever
FREE_TO = 7  # cells before this position are known to be free

# A header: a pane that an input thread has handed over.
HEADER_PANE = 0
HEADER_END = 1  # position after its last cell; its first is where the header before it ended
HEADER_NEXT = 2  # the pane the input has gone on to: it has nothing before that one any more
HEADER_WORDS = 4

# What the output thread tells an input.
TAKEN = 0  # panes that are in the totals
GONE = 1  # panes that are let go

# What the output thread knows of an input, from that line on.
SEEN = 2  # panes that are known to be handed over
PASSED = 3  # the pane the input has gone on to
TAKEN_TO = 4  # position after the last cell taken
GONE_TO = 5  # position after the last cell let go

# Beyond every pane: where a closed input has gone on to.
NO_MORE = (1 << 63) - 1

# Cells of an input's ring, where its panes do not need more and could need as many.
ENOUGH_CELLS = 1 << 16

PARAMETERS = (
    Parameter("panes_ahead", 16, 2, 1 << 20, "panes", "an input's panes that not all have passed"),
)


class PrivatePanesState(NamedTuple):
    """Panes on their way from the input threads to the output thread."""

    own: np.ndarray  # [inputs] lines; that input alone
    filling: Cells  # one pane an input; that input alone
    headers: np.ndarray  # [inputs * room * HEADER_WORDS]; filled before `handed` counts them
    ring: Cells  # one pane an input, of `ring.plane` cells; as the headers
    handed: np.ndarray  # [inputs] lines; input writes, output reads: panes handed over
    told: np.ndarray  # [inputs] lines; output writes, input reads: TAKEN and GONE
    reading: np.ndarray  # [inputs] lines; the output thread alone
    windows: PaneState  # the output thread alone
    inputs: int
    panes_ahead: int
    room: int  # headers of an input


def make_state(
    plan: AggregationPlan,
    inputs: int,
    ahead: int = 0,
    panes_ahead: int = PARAMETERS[0].default,
    text: Text | None = None,
) -> PrivatePanesState:
    """Allocate the panes of each input and the output thread's totals, all of them empty.

    Parameters
    ----------
    plan : AggregationPlan
    inputs : int
        At least 1.
    ahead : int
        Without effect: no tuple waits, each is done when it has been added.
    panes_ahead : int
        Panes of an input that some other has not passed, the one being filled included.
    text : Text, optional
        Needed for the text functions.

    Raises
    ------
    UsageError
        When the function depends on the order of tuples, a parameter is out of its limits, texts
        are needed and missing, or the panes need more memory than the limit.
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
        told=aligned_words(inputs * LINE_WORDS),
        reading=aligned_words(inputs * LINE_WORDS),
        windows=windows,
        inputs=inputs,
        panes_ahead=panes_ahead,
        room=room,
    )


def ring_cells(keys: int, panes_of_window: int, room: int) -> int:
    """Return the cells of an input's ring, a power of two.

    The panes of a window fit whatever is in them. For more, up to all there are headers for, a
    pane is expected to hold few of many keys.
    """
    needed = min(room * keys, max(panes_of_window * keys, ENOUGH_CELLS))
    return 1 << (needed - 1).bit_length()
