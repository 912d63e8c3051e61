"""An aggregate over arrays: the threads, and an entry for libraries.

::

    stream 0 --> [input 0] --add--> +----------+                      rows, when the buffer is full
    stream 1 --> [input 1] --add--> | operator | --process--> [output] ---------------------> append
    ...                             +----------+
                                         ^ update, if the variant has it
                                  [update 0 ...]

Rows come in one sequence whatever the timing, and the buffer is emptied when the next winset does
not fit, so that not even the boundaries between blocks of rows depend on the timing.

``run_aggregation`` takes streams of timestamps, keys and values and returns the row of each window
and key. It is built on ``run``, and so is a replay of files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from operators import registry
from operators.aggregation.draining import drain
from operators.aggregation.family import refusal
from operators.aggregation.functions import (
    COUNTS,
    LOW_BITS,
    TEXT,
    averages,
    fixed_point,
    function_code,
)
from operators.aggregation.plan import AggregationPlan, Text, make_plan
from operators.contract import UsageError, Variant
from operators.running.drivers import Feed, make_steps_loop
from operators.running.library import (
    checked_integers,
    checked_streams,
    checked_times,
    discard,
    input_roles,
    make_feed,
    run_to_the_end,
)
from operators.running.run_threads import Role

# Rows of a returned block; a winset of more keys gets a buffer of its size.
ROWS_A_BLOCK = 1 << 16
# A value of a row has two words; it fits 64 bits while the high one is below this.
HIGH_LIMIT = 1 << (63 - LOW_BITS)


class Aggregating(NamedTuple):
    """The arguments of an aggregation run.

    Attributes
    ----------
    variant : Variant
    plan : AggregationPlan
        Keeps rows, at least as many as a winset may have.
    feeds : sequence of Feed
        The tuples of each stream, keys as codes.
    text : Text or None
        The texts that values refer to, where the function reads texts.
    parameters : mapping
        All parameters of the variant.
    """

    variant: Variant
    plan: AggregationPlan
    feeds: Sequence[Feed]
    text: Text | None
    parameters: Mapping[str, Any]


class Windows(NamedTuple):
    """The result of an aggregate: a row for each key of each window that received a tuple of it.

    Sorted by window, then by key; arrays of one length.

    Attributes
    ----------
    starts : int64 array
        The first time of each row's window.
    keys : int64 array
    values : array
        float64 of avg; texts (object) of a function that returns one; else int64.
    """

    starts: np.ndarray
    keys: np.ndarray
    values: np.ndarray


def run_aggregation(
    variant: str,
    streams: Sequence[tuple[ArrayLike, ArrayLike, ArrayLike]],
    *,
    function: str,
    window_size: int,
    window_advance: int,
    **parameters: Any,
) -> Windows:
    """Aggregate sorted streams over sliding windows, by key.

    Windows cover ``[l * window_advance, l * window_advance + window_size)`` for each l from 0 up.
    Sums are exact, and ties go by the number of the stream.

    Parameters
    ----------
    variant : str
        Id of an aggregate.
    streams : sequence of (timestamps, keys, values)
        Arrays of one length: timestamps from 0 up that never fall, in any unit; keys and values are
        int64. The mail functions read texts as values, and first may: sequences of str.
    function : str
        count, sum, avg, min, max, first, count-mail, count-mail-ip, first-mail or first-mail-ip.
    window_size, window_advance : int
        In the unit of the timestamps.
    **parameters
        The variant's parameters, such as ``update_threads``.

    Returns
    -------
    Windows

    Raises
    ------
    UsageError
        When an argument is invalid, the variant does not take it, or a sum does not fit 64 bits.
    run_threads.RunFailed
        When a thread failed.

    Examples
    --------
    >>> north, south = ([0, 4, 9], [7, 7, 8], [10, 20, 30]), ([4], [7], [60])
    >>> found = run_aggregation(
    ...     "tumlsc", [north, south], function="avg", window_size=10, window_advance=5)
    >>> [each.tolist() for each in found]
    [[0, 0, 5], [7, 8, 8], [30.0, 30.0, 30.0]]
    """
    chosen = registry.variant("aggregation", variant)
    make_plan(function, window_size, window_advance, keys=1)
    reason = refusal(chosen, function)
    if reason is not None:
        raise UsageError(f"{chosen.id} {reason}")
    given = chosen.settings(parameters)
    streams = checked_streams("streams", streams)
    if not streams:
        raise UsageError("there is no stream; give (timestamps, keys, values) of one at least")
    columns = [_checked(number, stream, function) for number, stream in enumerate(streams)]
    texts = _texts_of([values for _, _, values in columns])
    labels = np.unique(np.concatenate([keys for _, keys, _ in columns]))
    feeds, first = [], 0
    for times, keys, values in columns:
        # The value is the number of the text among those of all streams.
        numbers = values if texts is None else np.arange(first, first + len(values))
        first += len(values)
        feeds.append(make_feed(times, np.searchsorted(labels, keys), numbers))
    keys = max(len(labels), 1)
    plan = make_plan(
        function, window_size, window_advance, keys, rows_capacity=max(keys, ROWS_A_BLOCK)
    )
    text = _text_of(texts) if texts is not None and function in TEXT else None
    blocks = [np.zeros((0, 5), np.int64)]
    run(Aggregating(chosen, plan, feeds, text, given), blocks.append)
    rows = np.concatenate(blocks)
    return Windows(rows[:, 0], labels[rows[:, 1]], _values(function, rows, labels, texts))


def _checked(
    number: int, stream: tuple[ArrayLike, ArrayLike, ArrayLike], function: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the columns of a stream; texts as an object array."""
    if isinstance(stream, str | Mapping) or not isinstance(stream, Sized):
        raise UsageError(
            f"stream {number} is timestamps, keys and values, received {type(stream).__name__}"
        )
    if len(stream) != 3:
        raise UsageError(
            f"stream {number} is timestamps, keys and values, received {len(stream)} arrays"
        )
    times = checked_times(f"timestamps of stream {number}", stream[0])
    keys = checked_integers(f"keys of stream {number}", stream[1])
    values = np.asarray(stream[2])
    if function in TEXT or (function == "first" and values.dtype.kind in "OU"):
        values = values.astype(object)
        wrong = next((each for each in values.tolist() if not isinstance(each, str)), None)
        if values.ndim != 1 or wrong is not None:
            raise UsageError(
                f"{function} reads texts in a row as values of stream {number}, received {wrong!r}"
            )
    else:
        values = checked_integers(f"values of stream {number}", values)
    for name, column in (("keys", keys), ("values", values)):
        if len(column) != len(times):
            raise UsageError(
                f"stream {number} has {len(times)} timestamps and {len(column)} {name}; give as"
                " many of each"
            )
    return times, keys, values


def _texts_of(values: Sequence[np.ndarray]) -> np.ndarray | None:
    """Return the texts of all streams; None where the values are numbers."""
    texts = [each for each in values if each.dtype == object]
    if not texts:
        return None
    numbers = [each for each in values if each.dtype != object and len(each)]
    if numbers:
        raise UsageError("some streams have numbers as values and others texts; give one kind")
    return np.concatenate(texts)


def _text_of(texts: np.ndarray) -> Text:
    """Return the concatenated texts, as UTF-8."""
    try:
        encoded = [each.encode() for each in texts.tolist()]
    except UnicodeEncodeError as error:
        raise UsageError(
            f"texts are Unicode, and {error.object!r} has half of a pair of surrogates"
        ) from None
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return Text(offsets, np.frombuffer(b"".join(encoded), dtype=np.uint8))


def _values(
    function: str, rows: np.ndarray, labels: np.ndarray, texts: np.ndarray | None
) -> np.ndarray:
    """Return the value of each row."""
    if function in COUNTS:
        return rows[:, 2]
    if texts is not None:
        return texts[rows[:, 2]]
    if function == "avg":
        return averages(rows)
    high, low = fixed_point(function_code(function), rows)
    wide = np.flatnonzero((high < -HIGH_LIMIT) | (high >= HIGH_LIMIT))
    if wide.size:
        row = int(wide[0])
        value = (int(high[row]) << LOW_BITS) + int(low[row])
        raise UsageError(
            f"window {rows[row, 0]}, key {labels[rows[row, 1]]}: {function} {value} does not fit 64"
            " bits; give smaller values or a smaller window"
        )
    return (high << LOW_BITS) | low


# --- threads --------------------------------------------------------------------------------------


def run(aggregating: Aggregating, append: Callable[[np.ndarray], None]) -> None:
    """Run an aggregate to the end; the rows, int64 (rows, 5), go to `append` block by block.

    Raises
    ------
    run_threads.RunFailed
        When a thread failed.
    """
    none = np.zeros(0, dtype=np.int64)
    smallest = aggregating.plan._replace(
        window_size=1, window_advance=1, keys=1, rows_capacity=1, winsets_capacity=1
    )
    nothing = aggregating._replace(plan=smallest, feeds=[make_feed(none, none, none)])
    run_to_the_end(
        _roles(aggregating, append),
        _roles(nothing, discard),
        sum(feed.rows for feed in aggregating.feeds),
        registry.family(aggregating.variant.family).failures,
    )


def _roles(aggregating: Aggregating, append: Callable[[np.ndarray], None]) -> list[Role]:
    """Return the threads of a run."""
    operations, feeds = aggregating.variant.operations, aggregating.feeds
    state = operations.make_state(
        aggregating.plan, len(feeds), **aggregating.parameters, text=aggregating.text
    )
    roles = [Role("output", drain, (state, operations.process, append), output=True)]
    if operations.update is not None:
        update = make_steps_loop(operations.update)
        threads = range(aggregating.parameters["update_threads"])
        roles += [Role(f"update {thread}", update, (state, thread)) for thread in threads]
    return roles + input_roles("input", operations.add, operations.close, state, feeds)
