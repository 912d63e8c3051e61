"""The passage of one output thread through time over overlapping windows, however these are stored.

`update_output` and `side_by_side` store the active winsets in different ways; which ones are
active, when one is output, and how a tuple without room is held is the same and defined here once.
The state's ``control`` begins with the words below.
"""

from __future__ import annotations

from collections.abc import Callable

from operators.contract import END, READY
from operators.core.jit import inlined

# The first words of ``windows.control``.
FIRST_WINSET = 0  # number of the oldest active winset
ACTIVE = 1  # count of active winsets
NEXT_CHANGE = 2  # earliest timestamp with other windows than the last tuple's
HELD = 3  # 1 while `current` waits for room
PROCESSED = 4  # tuples processed
OTHERS = 5  # first of the words that belong to one kind of state


@inlined
def windows_at(timestamp, size, advance):
    """Return the first and the last window of a time, and the next time with other windows."""
    earliest = 0
    if timestamp >= size:
        earliest = (timestamp - size) // advance + 1
    latest = timestamp // advance
    return earliest, latest, min(earliest * advance + size, (latest + 1) * advance)


def through_time(
    activate: Callable[..., None], update: Callable[..., None], output: Callable[..., int]
) -> tuple[Callable[..., bool], Callable[..., int], Callable[..., int]]:
    """Return ``is_holding``, ``update_output`` and ``end_of_streams`` over a kind of state.

    Parameters
    ----------
    activate : callable
        ``activate(windows, earliest, latest)`` receives the winsets that are active from now on;
        those before `earliest` have been output.
    update : callable
        ``update(windows, key, value)`` adds a tuple to the key's window in every active winset.
    output : callable
        ``output(windows, processed)`` outputs the oldest active winset and steps over it: READY, or
        ROWS_FULL or WINSETS_FULL when there is no room and nothing has changed.
    """

    @inlined
    def is_holding(windows):
        # Whether the tuple in `current` still waits to be processed.
        return windows.control[HELD] == 1

    @inlined
    def update_output(windows):
        # Process the tuple in `current`: READY, or why it is held. The next call retries it.
        control = windows.control
        timestamp = windows.current[0]
        if timestamp >= control[NEXT_CHANGE]:
            status = move_to(windows, timestamp)
            if status != READY:
                control[HELD] = 1
                return status
            control[HELD] = 0
        update(windows, windows.current[2], windows.current[3])
        control[PROCESSED] += 1
        return READY

    @inlined
    def move_to(windows, timestamp):
        # Output the winsets that `timestamp` has passed, and activate those that contain it.
        control = windows.control
        earliest, latest, change = windows_at(
            timestamp, windows.window_size, windows.window_advance
        )
        while control[ACTIVE] > 0 and control[FIRST_WINSET] < earliest:
            status = output(windows, control[PROCESSED])
            if status != READY:
                return status
        # Either a winset is left, and it is `earliest`, or all are new.
        control[FIRST_WINSET] = earliest
        control[ACTIVE] = latest - earliest + 1
        control[NEXT_CHANGE] = change
        activate(windows, earliest, latest)
        return READY

    @inlined
    def end_of_streams(windows):
        # Output the remaining winsets: END, or ROWS_FULL or WINSETS_FULL to be called again.
        while windows.control[ACTIVE] > 0:
            status = output(windows, -1)
            if status != READY:
                return status
        return END

    return is_holding, update_output, end_of_streams
