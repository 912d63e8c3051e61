"""An index of a sliding window over arrays: keys enter, the oldest leave, and bands are searched.

``run_index`` runs the index in one thread. For each key in turn it removes the key that leaves the
window, inserts the new one, and searches the band of the new key.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from operators import registry
from operators.contract import END, FULL, READY, ROWS_FULL, UsageError, whole
from operators.core.atomics import RELAXED, load
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.index.family import NO_ROOM_FOR_KEY, check_window
from operators.index.window import make_answer
from operators.running.control import PROGRESS, end, report
from operators.running.drivers import make_visit
from operators.running.handover import hand_out
from operators.running.library import checked_integers, discard, run_to_the_end
from operators.running.run_threads import Counts, Role

# Positions handed over at a time; a larger window gets room for the result of one search.
POSITIONS_AT_ONCE = 1 << 18


def run_index(
    variant: str,
    keys: ArrayLike,
    lows: ArrayLike,
    highs: ArrayLike,
    *,
    window: int,
    key_bits: int = 64,
    **parameters: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """Search a band in the window of each key: among the last `window` keys, including itself.

    Parameters
    ----------
    variant : str
        Id of an index.
    keys : array_like of int
        In the order of arrival.
    lows, highs : array_like of int
        The band that is searched after each key has entered, both ends inclusive.
    window : int
        Number of keys in the window.
    key_bits : int
        32 or 64.
    **parameters
        Parameters of the variant, such as ``merge_ratio``.

    Returns
    -------
    begins : int64 array (keys + 1,)
    positions : int64 array
        ``positions[begins[i] : begins[i + 1]]`` is the result of the search of key i, ascending:
        the positions in `keys` of the keys in the band.

    Raises
    ------
    UsageError
        When an argument is invalid, or the variant does not take it.
    run_threads.RunFailed
        When the thread failed.

    Examples
    --------
    >>> keys = np.array([10, 30, 11, 9])
    >>> begins, positions = run_index("b-plus-tree", keys, keys - 1, keys + 1, window=3)
    >>> [found.tolist() for found in np.split(positions, begins[1:-1])]
    [[0], [1], [0, 2], [3]]
    """
    chosen = registry.variant("index", variant)
    given = chosen.settings(parameters)
    window, key_bits = whole("window", window), whole("key_bits", key_bits)
    limits = np.iinfo(check_window(window, key_bits))
    columns = [
        checked_integers(name, column)
        for name, column in (("keys", keys), ("lows", lows), ("highs", highs))
    ]
    _check_bands(columns, limits)
    operations = chosen.operations
    search = make_search_loop(
        operations.insert, operations.remove, operations.find, operations.scan
    )
    begins = np.zeros(len(columns[0]) + 1, dtype=np.int64)
    pieces: list[np.ndarray] = [begins[:0]]

    def role(columns: list[np.ndarray], begins: np.ndarray, window: int, append: Callable) -> Role:
        state = operations.make_state(window, key_bits, **given)
        place = aligned_words(max(operations.places(state), 1))
        room = np.zeros(max(POSITIONS_AT_ONCE, window), dtype=np.int64)
        counts = (begins, room, aligned_words(LINE_WORDS))
        searched = (state, *columns, window, place, make_answer(window), *counts)
        return Role(
            "index",
            take_positions,
            (search, searched, append),
            output=True,
            counts=Counts.EVERY_TUPLE,
        )

    run_to_the_end(
        [role(columns, begins, window, lambda found: pieces.append(found.copy()))],
        [role([each[:0] for each in columns], begins[:1].copy(), 1, discard)],
        len(columns[0]),
        registry.family("index").failures,
    )
    positions = np.concatenate(pieces)
    # The results of a search have no order.
    of = np.repeat(np.arange(len(columns[0])), np.diff(begins))
    return begins, positions[np.lexsort((positions, of))]


def _check_bands(columns: list[np.ndarray], limits: np.iinfo) -> None:
    keys, lows, highs = columns
    if not len(keys) == len(lows) == len(highs):
        raise UsageError(
            f"there are {len(keys)} keys, {len(lows)} lows and {len(highs)} highs; give as many of"
            " each"
        )
    for name, column in zip(("keys", "lows", "highs"), columns, strict=True):
        if len(column) and not limits.min <= column.min() <= column.max() <= limits.max:
            raise UsageError(
                f"{name} must be between {limits.min} and {limits.max} with {limits.bits} bits a"
                f" key, received {column.min()} to {column.max()}; give key_bits=64"
            )
    crossed = np.flatnonzero(lows > highs)
    if crossed.size:
        at = int(crossed[0])
        raise UsageError(
            f"a band goes from a low to a high key, received {lows[at]} to {highs[at]} at position"
            f" {at}"
        )


# --- the thread -----------------------------------------------------------------------------------


@cache
def make_search_loop(insert, remove, find, scan):
    """Return the kernel that inserts keys and searches, and returns when the buffer is full.

    Returns
    -------
    callable
        ``search_loop(control, own, state, keys, lows, highs, window, place, answer, begins, room,
        counted)``: puts positions into `room` and their number into ``counted[0]``. ROWS_FULL when
        the next result may not fit, END, NO_ROOM_FOR_KEY, or NOT_READY when asked to stop.
    """

    @inlined
    def begin(control, own, *arguments):
        return load(control, own + PROGRESS, RELAXED), 0

    @inlined
    def turn(
        control, own, kept, state, keys, lows, highs, window, place, answer, begins, room, counted
    ):
        """Insert the next key and search the band; `kept`: key position, positions in `room`."""
        at, count = kept
        if at == len(keys):
            return END, kept
        if count + window > len(room):
            return ROWS_FULL, kept
        if at >= window:
            remove(state, keys[at - window], at - window)
        if insert(state, keys[at], at) == FULL:
            return NO_ROOM_FOR_KEY, kept
        find(state, lows[at], place)
        found = scan(state, lows[at], highs[at], place, answer)
        for each in range(found):
            room[count + each] = answer[each]
        begins[at + 1] = begins[at] + found
        report(control, own, at + 1)
        return READY, (at + 1, count + found)

    @inlined
    def finish(control, own, status, kept, *arguments):
        arguments[-1][0] = kept[1]

    return make_visit(turn, begin, finish)


def take_positions(
    control: np.ndarray, own: int, search: Any, searched: tuple, append: Any
) -> None:
    """Run the thread of an index to the end; the results go to `append`."""
    room, counted = searched[-2:]

    def take() -> tuple[int, np.ndarray]:
        status = search(control, own, *searched)
        return status, room[: int(counted[0])]

    hand_out(control, own, take, append)
    end(control, own)
