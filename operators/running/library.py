"""What the entry points for arrays share: checked arguments, feeds, and a run to its end.

Each family has such an entry point in ``operators/<family>/run.py``, ``run_<family>`` (that of
theta joins is ``run_join``): arrays in, arrays out, on the family's variants and on real threads.
Nothing in what comes out depends on the threads. What is asked for is checked before anything is
allocated or compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from operators.contract import TIMESTAMP_LIMIT, UsageError, whole
from operators.running import crew
from operators.running.crew import Role
from operators.running.drivers import Feed, make_input_loop
from operators.running.handover import compile_roles
from operators.running.schedule import CLOSED_LOOP

# Roughly; it says how often a run is looked at and nothing else.
TUPLES_A_SECOND = 1_000_000


def checked_integers(name: str, given: ArrayLike, columns: int | None = None) -> np.ndarray:
    """Return whole numbers as a contiguous int64 array.

    Parameters
    ----------
    name : str
        Of the argument, for messages.
    given : array_like
    columns : int, optional
        Of a table; left out, the numbers are in a row.

    Raises
    ------
    UsageError
        When they have another shape, one is no whole number, or one does not fit 64 bits.

    Examples
    --------
    >>> checked_integers("keys", [3, 1]).tolist()
    [3, 1]
    >>> checked_integers("records", [[3, 1], [4, 1]], columns=2).tolist()
    [[3, 1], [4, 1]]
    """
    found = np.asarray(given)
    fits = found.ndim == 1 if columns is None else found.ndim == 2 and found.shape[1] == columns
    if not fits or (found.dtype.kind not in "iu" and found.size):
        shape = "in a row" if columns is None else f"of shape (rows, {columns})"
        raise UsageError(
            f"{name} are whole numbers {shape}, received {found.dtype} of shape {found.shape}"
        )
    if found.dtype.kind == "u" and found.size and int(found.max()) > np.iinfo(np.int64).max:
        raise UsageError(f"{name} must fit into 64 bits with a sign, received {found.max()}")
    # Kernels are compiled for arrays that may be written.
    return np.require(found, np.int64, ["C", "W"])


def checked_times(name: str, given: ArrayLike) -> np.ndarray:
    """Return the timestamps of a stream, which do not fall, as a contiguous int64 array.

    Raises
    ------
    UsageError
        When they are no row of whole numbers from 0 up, or one is before the one in front of it.

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


def checked_workers(given: int, most: int) -> int:
    """Return how many threads shall work.

    Raises
    ------
    UsageError
        When it is no whole number from 1 to `most`.

    Examples
    --------
    >>> checked_workers(2, most=64)
    2
    """
    workers = whole("workers", given)
    if not 1 <= workers <= most:
        raise UsageError(f"workers must be between 1 and {most}, received {workers}")
    return workers


def make_feed(timestamps: np.ndarray, keys: np.ndarray, values: np.ndarray) -> Feed:
    """Return the tuples of a stream for an input thread that goes through them once.

    Parameters
    ----------
    timestamps, keys, values : int64 arrays of one length
    """
    columns = [np.require(column, np.int64, ["C", "W"]) for column in (timestamps, keys, values)]
    rows = len(timestamps)
    # Nothing has a due time here, so that ranks count the stream's own tuples.
    return Feed(*columns, np.arange(rows), rows, 0)


def input_roles(
    called: str,
    add: Callable[..., int],
    close: Callable[..., int],
    state: Any,
    feeds: Sequence[Feed],
) -> list[Role]:
    """Return a thread a stream, which offers its tuples as fast as they are taken.

    Parameters
    ----------
    called : str
        What a stream is called in messages, such as "source".
    add, close : callable
        As ``drivers.make_input_loop`` takes them.
    state : NamedTuple
        The operator's.
    feeds : sequence of Feed
    """
    enter = make_input_loop(add, close)
    return [
        Role(f"{called} {number}", enter, (state, number, feed, feed.rows, CLOSED_LOOP))
        for number, feed in enumerate(feeds)
    ]


def discard(piece: Any) -> None:
    """Take output that nobody wants: the ``append`` of a run over nothing."""


def run_to_the_end(
    roles: Sequence[Role], nothing: Sequence[Role], tuples: int, failures: Mapping[int, str]
) -> None:
    """Compile the kernels of a run, then run it however long it takes.

    Parameters
    ----------
    roles : sequence of Role
    nothing : sequence of Role
        Those of the same run over no tuples, with arguments of the same types, on states as small
        as they may be. They are let go before the run.
    tuples : int
        Of the whole run, roughly.
    failures : mapping of int to str
        Statuses that end a run, each with the clause that says why (``Family.failures``).

    Raises
    ------
    crew.RunFailed
        When a thread failed.
    """
    compile_roles(nothing)
    del nothing
    crew.run(
        roles,
        pin=False,
        expected_seconds=tuples / TUPLES_A_SECOND,
        limit_seconds=float("inf"),
        failures=failures,
    )
