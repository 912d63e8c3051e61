"""A window join over arrays: the threads, and an entry point for libraries.

::

    R, S in memory --> [thread 0], [thread 1], ... --> pairs in the order of arrival --> append

Pairs come in one sequence whatever the variant and the number of threads: by the arrival of the
probing tuple, then by the partner's position. The pairs of an unordered join are sorted once all of
them are there: in memory, 16 bytes a pair and temporarily as much again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from operators.contract import TIMESTAMP_LIMIT, UsageError, Variant, whole
from operators.index.family import MOST_WINDOW
from operators.index.window import most_within
from operators.join.asked import join_for
from operators.join.family import FAMILY, State
from operators.join.feed import NOTHING, Feed, by_time
from operators.join.pairs_out import (
    PairBuffer,
    Pairs,
    make_pair_buffer,
    make_pairs_loop,
    run_thread,
    take_pairs,
)
from operators.join.window import check_half_width
from operators.running.library import checked_integers, checked_times, run_to_the_end
from operators.running.run_threads import Counts, Role

# Pairs that are handed over at a time.
PAIRS_AT_ONCE = 1 << 20


class Joining(NamedTuple):
    """The input and the settings of a join.

    Attributes
    ----------
    variant : Variant
    feed : Feed
    window : int
        The most tuples that a window ever has.
    half_width : int
    two_way : bool
    key_bits : int
        32 or 64.
    span : int
        Ticks of a time window; 0 of a count window.
    parameters : mapping
        All parameters of the variant.
    """

    variant: Variant
    feed: Feed
    window: int
    half_width: int
    two_way: bool
    key_bits: int
    span: int
    parameters: Mapping[str, Any]

    def make_state(self) -> State:
        """Return the join's state, with empty windows."""
        return self.variant.operations.make_state(
            self.window,
            self.half_width,
            two_way=self.two_way,
            key_bits=self.key_bits,
            span=self.span,
            **self.parameters,
        )


def run_join(
    variant: str,
    r_keys: ArrayLike,
    s_keys: ArrayLike | None = None,
    *,
    half_width: int,
    window: int = 0,
    span: int = 0,
    r_times: ArrayLike | None = None,
    s_times: ArrayLike | None = None,
    threads: int | str | None = None,
    **parameters: Any,
) -> np.ndarray:
    """Join a stream R with a stream S, or R with itself, and return the pairs.

    Parameters
    ----------
    variant : str
        Id of a window join.
    r_keys, s_keys : array_like of int
        Of up to 64 bits. Without `s_keys` a tuple of R meets the earlier ones of R.
    half_width : int
        Keys of a pair differ by so much at most.
    window : int
        Tuples of a count window; 0 where windows are of time.
    span : int
        Ticks of a time window; 0 where windows are of count.
    r_times, s_times : array_like of int, optional
        When tuples arrive, in any unit; at equal times R's come first. Without them the streams
        take turns, R first.
    threads : int or str, optional
        The variant's default if not given; a variant of one thread accepts 1. More threads of
        "pim-tree" mean "pim-tree-parallel", the same index with locks. For joins that share one
        index also the numbers of active threads over time: "2,4,1@100000" are two for the first
        100000 tuples, four for as many, then one.
    **parameters
        Those of the variant, such as ``merge_ratio`` or, for joins that share one index,
        ``task_size``.

    Returns
    -------
    int64 array (pairs, 2)
        Positions of the tuples of R and of S, in the order of arrival of the later tuple, then of
        the earlier one; in a self join the later one's first.

    Raises
    ------
    UsageError
        When an argument is invalid, or the variant does not take it.
    run_threads.RunFailed
        When a thread failed.

    Examples
    --------
    >>> run_join("pim-tree", [10, 20, 30], [11, 29, 19], window=2, half_width=1).tolist()
    [[0, 0], [2, 1], [1, 2]]
    >>> run_join("b-plus-tree", [5, 9, 6], window=2, half_width=1).tolist()
    [[2, 0]]
    >>> run_join("pim-tree", [5, 9, 6], window=2, half_width=1, threads=2, task_size=1).tolist()
    [[2, 0]]
    >>> run_join("im-tree", [5, 9, 6], r_times=[0, 3, 9], span=6, half_width=5).tolist()
    [[1, 0], [2, 1]]
    """
    chosen, given = join_for(variant, parameters, threads)
    window, span, half_width = (
        whole(name, value)
        for name, value in (("window", window), ("span", span), ("half_width", half_width))
    )
    check_half_width(half_width)
    if (window > 0) == (span > 0) or window < 0 or span < 0:
        raise UsageError(
            "windows are of count (window above 0) or of time (span above 0), received"
            f" window={window} and span={span}"
        )
    keys = [checked_integers("r_keys", r_keys)]
    times = [_times("r_times", r_times, keys[0])]
    if s_keys is not None:
        keys.append(checked_integers("s_keys", s_keys))
        times.append(_times("s_times", s_times, keys[1]))
    timed = [r_times is not None] + [s_times is not None] * (s_keys is not None)
    if span and not all(timed):
        raise UsageError("a time window needs the times of each stream")
    if any(timed) != all(timed) or (s_keys is None and s_times is not None):
        raise UsageError("times are those of each stream that is joined, or of none")
    if span >= TIMESTAMP_LIMIT:
        raise UsageError(f"span must be below 2**62, as times are, received {span}")
    most = most_tuples(times, window, span)
    two_way = len(keys) == 2
    columns = [each for stream in zip(times, keys, strict=True) for each in stream]
    feed = by_time(*columns, *([NOTHING] * 2 if not two_way else []))
    joining = Joining(
        chosen, feed, most, half_width, two_way, key_bits_of(keys, half_width), span, given
    )
    found: list[np.ndarray] = [np.zeros((0, 2), dtype=np.int64)]
    run(joining, lambda pairs: found.append(np.column_stack(pairs)))
    return np.concatenate(found)


def key_bits_of(keys: list[np.ndarray], half_width: int) -> int:
    """Return 32 if all keys and the ends of all bands fit into 32 bits, else 64."""
    used = [each for each in keys if len(each)]
    lowest = min((int(each.min()) for each in used), default=0)
    highest = max((int(each.max()) for each in used), default=0)
    limits = np.iinfo(np.int32)
    fits = lowest - half_width >= limits.min and highest + half_width <= limits.max
    return 32 if fits else 64


def _times(name: str, given: ArrayLike | None, keys: np.ndarray) -> np.ndarray:
    """Return the times of a stream, which are non-decreasing; by default the positions."""
    if given is None:
        return np.arange(len(keys))
    found = checked_times(name, given)
    if len(found) != len(keys):
        raise UsageError(f"{len(keys)} tuples have {len(keys)} {name}, received {len(found)}")
    return found


def most_tuples(times: Sequence[np.ndarray], window: int, span: int, called: str = "span") -> int:
    """Return the most tuples that a window of any of the streams has, at least one.

    Parameters
    ----------
    times : sequence of int64 array
        The times of each stream, non-decreasing.
    window, span : int
        Tuples or ticks of a window; the other one is 0.
    called : str
        The user's name for `span`, for messages.

    Raises
    ------
    UsageError
        When a window of so many ticks has more tuples than a window may have.
    """
    if window:
        # A window that is longer than its stream never loses a tuple, whatever its length.
        return max(1, min(window, max(map(len, times))))
    most = max(most_within(each, span) for each in times)
    if most > MOST_WINDOW:
        raise UsageError(
            f"{called} of {span} ticks has up to {most} tuples of a stream at once, and a window"
            f" has {MOST_WINDOW} at most; give a shorter one"
        )
    return max(1, most)


# --- threads --------------------------------------------------------------------------------------


def run(
    joining: Joining, append: Callable[[Pairs], None], pairs_at_once: int = PAIRS_AT_ONCE
) -> None:
    """Run a join to its end, passing `pairs_at_once` pairs at a time to `append`, then the rest.

    Raises
    ------
    run_threads.RunFailed
        When a thread failed.
    """
    # Kernels are compiled for types, whatever the sizes: a small state warms up the compilation.
    small = joining._replace(window=1).make_state()
    state = joining.make_state()
    buffer = make_pair_buffer(state, pairs_at_once)
    kept: list[np.ndarray] = []
    take = append
    if not joining.variant.operations.ordered:

        def take(pairs: Pairs) -> None:
            kept.append(np.array(pairs))

    run_to_the_end(
        _roles(joining, state, buffer, take),
        _roles(joining, small, make_pair_buffer(small, 1), take),
        joining.feed.end_r + joining.feed.end_s,
        FAMILY.failures,
    )
    take(take_pairs(buffer))
    if kept:
        r, s = by_arrival(np.concatenate(kept, axis=1), joining.feed, joining.two_way)
        for begin in range(0, len(r), pairs_at_once):
            append((r[begin : begin + pairs_at_once], s[begin : begin + pairs_at_once]))


def by_arrival(pairs: np.ndarray, feed: Feed, two_way: bool) -> np.ndarray:
    """Sort pairs by the arrival of the later tuple, then by the position of the other one.

    Parameters
    ----------
    pairs : int64 array (2, pairs)
        Positions in R and in S; in a self join the later one's first.
    feed : Feed
        With the ranks of all tuples.
    two_way : bool
    """
    r, s = pairs
    if not two_way:
        return pairs[:, np.lexsort((s, r))]
    r_ranks, s_ranks = feed.ranks_r[r], feed.ranks_s[s]
    earlier = np.where(r_ranks > s_ranks, s, r)
    return pairs[:, np.lexsort((earlier, np.maximum(r_ranks, s_ranks)))]


def _roles(
    joining: Joining, state: State, buffer: PairBuffer, append: Callable[[Pairs], None]
) -> list[Role]:
    operations = joining.variant.operations
    step = operations.make_step(**joining.parameters)
    loop = make_pairs_loop(step, operations.seen, operations.ordered)
    return [
        Role(
            f"thread {number}",
            run_thread,
            (loop, state, number, joining.feed, buffer, append),
            output=True,
            counts=Counts.NOTHING if number else Counts.EVERY_TUPLE,
        )
        for number in range(len(state.threads))
    ]
