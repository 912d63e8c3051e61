"""Shared parts of the entry points for arrays: argument checks, feeds, and complete runs.

Each family has such an entry point in ``operators/<family>/run.py``, ``run_<family>`` (for theta
joins, ``run_join``): arrays in, arrays out, on the family's variants and on real threads. The
results do not depend on the threads. Arguments are checked before anything is allocated or
compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from operators.contract import TIMESTAMP_LIMIT, UsageError, whole
from operators.running import run_threads
from operators.running.drivers import Feed, make_input_loop
from operators.running.handover import compile_roles
from operators.running.run_threads import Role
from operators.running.schedule import CLOSED_LOOP

# A rough estimate, used only for how often a run is sampled.
TUPLES_A_SECOND = 1_000_000


def checked_integers(name: str, given: ArrayLike, columns: int | None = None) -> np.ndarray:
    """Return integers as a contiguous int64 array.

    Parameters
    ----------
    name : str
        Name of the argument, for messages.
    given : array_like
    columns : int, optional
        Number of columns of a table; by default the array is one-dimensional.

    Raises
    ------
    UsageError
        When the shape differs, an element is not an integer, or one does not fit in 64 bits.

    Examples
    --------
    >>> checked_integers("keys", [3, 1]).tolist()
    [3, 1]
    >>> checked_integers("records", [[3, 1], [4, 1]], columns=2).tolist()
    [[3, 1], [4, 1]]
    """
    try:
        found = np.asarray(given)
    except ValueError:  # rows of different lengths
        raise UsageError(f"{name} are whole numbers, received rows of different lengths") from None
    fits = found.ndim == 1 if columns is None else found.ndim == 2 and found.shape[1] == columns
    if not fits or (found.dtype.kind not in "iu" and found.size):
        shape = "in a row" if columns is None else f"of shape (rows, {columns})"
        raise UsageError(
            f"{name} are whole numbers {shape}, received {found.dtype} of shape {found.shape}"
        )
    if found.dtype.kind == "u" and found.size and int(found.max()) > np.iinfo(np.int64).max:
        raise UsageError(f"{name} must fit into 64 bits with a sign, received {found.max()}")
    # Kernels are compiled for writable arrays.
    return np.require(found, np.int64, ["C", "W"])


def checked_times(name: str, given: ArrayLike) -> np.ndarray:
    """Return the non-decreasing timestamps of a stream as a contiguous int64 array.

    Raises
    ------
    UsageError
        When they are not a one-dimensional array of integers from 0, or one is smaller than the one
        before it.

    Examples
    --------
    >>> checked_times("times", [1, 1, 4]).tolist()
    [1, 1, 4]
    """
    found = checked_integers(name, given)
    if len(found) and not 0 <= found.min() <= found.max() < TIMESTAMP_LIMIT:
        wrong = found.min() if found.min() < 0 else found.max()
        raise UsageError(f"{name} must be at least 0 and below 2**62, received {wrong}")
    falls = np.flatnonzero(found[1:] < found[:-1])
    if len(falls):
        at = int(falls[0]) + 1
        raise UsageError(
            f"{name} must not fall, received {found[at]} at position {at}, behind {found[at - 1]}"
        )
    return found


def checked_streams(name: str, given: Any) -> list[Any]:
    """Return a sequence of streams as a list.

    Raises
    ------
    UsageError
        When the argument is not a sequence.

    Examples
    --------
    >>> checked_streams("streams", ([1, 2], [3]))
    [[1, 2], [3]]
    """
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise UsageError(f"{name} are a sequence of streams, received {type(given).__name__}")
    return list(given)


def checked_workers(given: int, most: int) -> int:
    """Return the number of worker threads.

    Raises
    ------
    UsageError
        When it is not an integer from 1 to `most`.

    Examples
    --------
    >>> checked_workers(2, most=64)
    2
    """
    workers = whole("workers", given)
    if not 1 <= workers <= most:
        raise UsageError(f"workers must be between 1 and {most}, received {workers}")
    return workers


def checked_seconds(name: str, given: float) -> float:
    """Return a time above 0, in seconds, possibly infinite.

    Raises
    ------
    UsageError
        When it is not a positive number.

    Examples
    --------
    >>> checked_seconds("stall_seconds", 60)
    60.0
    """
    if isinstance(given, bool) or not isinstance(given, int | float | np.number) or not given > 0:
        raise UsageError(f"{name} is a number of seconds above 0, received {given!r}")
    return float(given)


def make_feed(timestamps: np.ndarray, keys: np.ndarray, values: np.ndarray) -> Feed:
    """Return the tuples of a stream as a feed that an input thread goes through once.

    Parameters
    ----------
    timestamps, keys, values : int64 arrays of one length
    """
    columns = [np.require(column, np.int64, ["C", "W"]) for column in (timestamps, keys, values)]
    rows = len(timestamps)
    # No tuple has a due time here, so ranks may count the stream's tuples alone.
    return Feed(*columns, np.arange(rows), rows, 0)


def input_roles(
    called: str,
    add: Callable[..., int],
    close: Callable[..., int],
    state: Any,
    feeds: Sequence[Feed],
) -> list[Role]:
    """Return one role per stream, which offers the stream's tuples as fast as they are accepted.

    Parameters
    ----------
    called : str
        The word for a stream in messages, such as "source".
    add, close : callable
        As for ``drivers.make_input_loop``.
    state : NamedTuple
        The operator's state.
    feeds : sequence of Feed
    """
    enter = make_input_loop(add, close)
    return [
        Role(f"{called} {number}", enter, (state, number, feed, feed.rows, CLOSED_LOOP))
        for number, feed in enumerate(feeds)
    ]


def discard(piece: Any) -> None:
    """Discard output: the ``append`` of a run over no tuples."""


def run_to_the_end(
    roles: Sequence[Role],
    nothing: Sequence[Role],
    tuples: int,
    failures: Mapping[int, str],
    stall_seconds: float | None = None,
) -> None:
    """Compile the kernels of a run, then run it without a time limit.

    Parameters
    ----------
    roles : sequence of Role
    nothing : sequence of Role
        The roles of the same run over no tuples, with arguments of the same types, on the smallest
        possible states. They are released before the run.
    tuples : int
        Estimated number of tuples of the whole run.
    failures : mapping of int to str
        Statuses that end a run, each with a clause that gives the reason (``Family.failures``).
    stall_seconds : float, optional
        The longest time without progress; by default that of ``run_threads.run``.

    Raises
    ------
    run_threads.RunFailed
        When a thread failed, or no thread made progress.
    """
    compile_roles(nothing)
    del nothing
    given = {} if stall_seconds is None else {"stall_seconds": stall_seconds}
    run_threads.run(
        roles,
        pin=False,
        expected_seconds=tuples / TUPLES_A_SECOND,
        limit_seconds=float("inf"),
        failures=failures,
        **given,
    )
