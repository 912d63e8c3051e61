"""WiML: the window merged list, where the input threads update the windows themselves.

"Efficient data streaming multiway aggregation", sections 4 and 5.7, Algorithm 6, Figs. 2d and 6.
For functions whose result does not depend on the order of tuples no sorting is needed: a tuple goes
into the windows as it comes, and all that remains of S-Merge is to know when a winset has got its
last tuple (the watermark)::

    input thread i:   Add, S-Merge, Update   -> W-Hive
    output thread:    Output                    W-Hive -> winset that all inputs have passed -> rows

`operators.aggregation.w_hive` has the winsets, `operators.aggregation.window_functions` the atomic
update of one window (Theorem 2 needs it). Guarantees: the rows of
`operators.aggregation.reference`, in the same order, whatever the timing. An order-sensitive
function is refused. Progress is the W-Hive's, lock-free: an input that gets FULL (backpressure)
waits for a slower input or for the output thread.
"""

from __future__ import annotations

from typing import NamedTuple

from operators.aggregation.family import AggregationOperations
from operators.aggregation.functions import NAMES, ORDER_SENSITIVE, UNORDERED
from operators.aggregation.plan import AggregationPlan, Text, check_plan
from operators.aggregation.w_hive import (
    LAST_TIMESTAMP,
    LEVELS,
    WINSETS_AHEAD,
    WHiveState,
    has_moved_on,
    make_w_hive,
    output_next_winset,
    own_at,
    pass_all,
    turn_to,
)
from operators.aggregation.window_functions import (
    count_shared,
    extreme_shared,
    make_update,
    sum_shared,
    text_shared,
)
from operators.contract import (
    ACCEPTED,
    OUT_OF_ORDER,
    TIMESTAMP_LIMIT,
    Look,
    Shown,
    UsageError,
    Variant,
)
from operators.core.jit import inlined

update = make_update(count_shared, text_shared, sum_shared, extreme_shared)


class WiMLState(NamedTuple):
    """The W-Hive, shared by the threads; input threads number its updating threads."""

    windows: WHiveState


def make_state(
    plan: AggregationPlan,
    inputs: int,
    levels: int = LEVELS.default,
    winsets_ahead: int = WINSETS_AHEAD.default,
    text: Text | None = None,
) -> WiMLState:
    """Return the state of `inputs` open inputs.

    Parameters
    ----------
    plan : AggregationPlan
    inputs : int
    levels, winsets_ahead : int
        Parameters of the W-Hive.
    text : Text, optional
        For the text functions.

    Raises
    ------
    UsageError
        When the function depends on the order of tuples, or a parameter is out of range.
    """
    plan = check_plan(plan)
    if NAMES[plan.function] in ORDER_SENSITIVE:
        raise UsageError(
            f"wiml does not sort tuples, so it cannot do {NAMES[plan.function]}, which depends on"
            f" their order; take tumlsc or tumlmc, or one of: {', '.join(UNORDERED)}"
        )
    return WiMLState(make_w_hive(plan, inputs, text, levels, winsets_ahead))


@inlined
def add(state, stream, timestamp, key, value):
    """Update the windows of a tuple (Algorithm 6, AddSMergeUpdate): ACCEPTED, FULL, OUT_OF_ORDER.

    Called by the input thread of `stream`.
    """
    hive = state.windows
    if refuses(hive, stream, timestamp):
        return OUT_OF_ORDER
    if has_moved_on(hive, stream, timestamp):
        turn_to(hive, stream, timestamp)
    # Also when the answer is FULL.
    refuse_before(hive, stream, timestamp)
    return update(hive, stream, key, value)


@inlined
def close(state, stream):
    """Say that the stream delivers no more: ACCEPTED. Called by its input thread."""
    end(state.windows, stream)
    return ACCEPTED


@inlined
def refuses(hive, thread, timestamp):
    """Say whether a tuple of the thread's stream comes out of order."""
    last = hive.private[own_at(hive, thread) + LAST_TIMESTAMP]
    return timestamp < last or timestamp >= TIMESTAMP_LIMIT


@inlined
def refuse_before(hive, thread, timestamp):
    """Record that no tuple before `timestamp` may follow in the thread's stream."""
    hive.private[own_at(hive, thread) + LAST_TIMESTAMP] = timestamp


@inlined
def end(hive, thread):
    """End the thread, whose stream is closed: it holds up no winset and takes no tuple any more."""
    refuse_before(hive, thread, TIMESTAMP_LIMIT)
    pass_all(hive, thread)


@inlined
def process(state):
    """Output one winset (Algorithm 6, Output), by the output thread."""
    return output_next_winset(state.windows)


VARIANT = Variant(
    id="wiml",
    family="aggregation",
    title="WiML",
    paper="multiway_aggregation",
    section="5.7, Algorithm 6",
    operations=AggregationOperations(
        make_state,
        add,
        close,
        process,
        counts_tuples="input",
        functions=UNORDERED,
        answers_as_w_hive=True,
    ),  # fmt: skip
    order="window start, then key",
    progress="lock-free",
    threads={"input": "one per stream", "output": "one"},
    capacity="winsets_ahead winsets before the slowest input; an input further ahead is told FULL",
    parameters=(
        LEVELS,
        WINSETS_AHEAD,
    ),
    look=Look("green", "D", "solid"),
    shown=(
        Shown(
            "levels=1",
            "WiML, 1 level",
            Look("#00573f", "d"),
            {"multiway_aggregation": ("16",)},
        ),
    ),
)
