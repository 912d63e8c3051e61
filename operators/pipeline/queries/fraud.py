"""Figure 1: high-mobility fraud in call records, the example of a user-defined pipeline.

    SL   calls of one area                                  (time, caller, x, y, callee, x, y)
    SL   location of each of the two, one record each       (time, phone, x, y)
    PS   by phone: speed since the previous location        (time, phone, speed)
    SL   faster than anybody travels                        (time)
    SF   number per time window                             (window, count), at the window's end

``operators.pipeline.run.run_pipeline`` runs it, or any other, over an array of records.
"""

from __future__ import annotations

import math

import numpy as np

from operators.core.jit import inlined
from operators.pipeline.declare import PARTITIONED, STATEFUL, STATELESS, Operator, Pipeline

# Words of a call: time in seconds, area, and phone and location in metres of both parties.
TIME, AREA, CALLER, CALLER_X, CALLER_Y, CALLEE, CALLEE_X, CALLEE_Y = range(8)
CALL_WORDS = 8
WINDOW_S = 3_600


@inlined
def in_area(call, area, out):
    """Keep the calls of one area."""
    if call[AREA] != area[0]:
        return 0
    out[0] = call[TIME]
    for word in range(CALLER, CALL_WORDS):
        out[word - 1] = call[word]
    return 1


@inlined
def places(call, state, out):
    """Output the caller's location and the callee's location."""
    for side in range(2):
        out[4 * side] = call[0]
        for word in range(3):
            out[4 * side + 1 + word] = call[1 + 3 * side + word]
    return 2


@inlined
def phone_of(place):
    """Return the phone."""
    return place[1]


@inlined
def speed(place, state, out):
    """Output the speed since the phone's last location, in m/s. State: seen, time, x, y."""
    seen, seconds = state[0], max(place[0] - state[1], 1)
    across, up = float(place[2] - state[2]), float(place[3] - state[3])
    out[0] = place[0]
    out[1] = place[1]
    out[2] = int(math.sqrt(across * across + up * up)) // seconds
    state[0] = 1
    state[1] = place[0]
    state[2] = place[2]
    state[3] = place[3]
    return seen


@inlined
def too_fast(moved, limit, out):
    """Keep speeds above the limit."""
    out[0] = moved[0]
    return 1 if moved[2] > limit[0] else 0


@inlined
def count_window(state, out):
    """Output the window that has ended. State: window + 1, count."""
    out[0] = state[0] - 1
    out[1] = state[1]
    return 1 if state[1] > 0 else 0


@inlined
def counted(case, state, out):
    """Count the cases in a time window."""
    window = case[0] // WINDOW_S + 1
    ended = 0
    if window != state[0]:
        ended = count_window(state, out)
        state[0] = window
        state[1] = 0
    state[1] += 1
    return ended


@inlined
def last_window(key, state, out):
    """Output the open window."""
    return count_window(state, out)


def make(area: int, limit: int, phones: int) -> Pipeline:
    """Return the pipeline.

    Parameters
    ----------
    area : int
        The area whose calls are searched.
    limit : int
        Speed above which a movement is impossible, in m/s.
    phones : int
        Upper bound of the phone numbers, exclusive.
    """
    words = [np.array([value], dtype=np.int64) for value in (area, limit)]
    return Pipeline(
        "fraud",
        CALL_WORDS,
        (
            Operator("area", STATELESS, in_area, outputs=CALL_WORDS - 1, lookup=words[0]),
            Operator("places", STATELESS, places, outputs=4, most=2),
            Operator("speed", PARTITIONED, speed, outputs=3, key=phone_of, keys=phones,
                     row_words=4),
            Operator("too fast", STATELESS, too_fast, outputs=1, lookup=words[1]),
            Operator("count", STATEFUL, counted, outputs=2, row_words=2, flush=last_window),
        ),
    )  # fmt: skip
