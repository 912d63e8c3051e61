"""Defines pipelines: operators in a row, each with a small user function.

A *record* is a few int64 words. An operator's function takes a record and writes the outputs::

    @inlined
    def near(call, state, out):
        if call[AREA] != 425:
            return 0                      # no output
        out[0], out[1] = call[PHONE], call[TIME]
        return 1                          # one

    PIPELINE = Pipeline("near", inputs=3, operators=(
        Operator("filter", STATELESS, near, outputs=2),
        Operator("last call", PARTITIONED, last_call, outputs=3, key=phone, keys=1000, row_words=2),
    ))

The second argument is the operator's state: for a stateful operator a single row of words, for a
partitioned one the row of the record's key, initially zero. Functions need no locks: no row is
given to two threads at the same time, and records with the same key arrive in order. A stateless
operator may have a read-only lookup table.

Several outputs are written consecutively: output `k` begins at ``out[k * outputs]``.

With ``form="blocks"`` a stateless or stateful operator may take a whole block at once, by columns::

    @inlined
    def near_in_columns(calls, state, out):
        found = 0
        for number in range(calls.shape[1]):
            # Written in any case, and overwritten by the next one where it is not near: no branch.
            out[0, found], out[1, found] = calls[PHONE, number], calls[TIME, number]
            found += calls[AREA, number] == 425
        return found

    Operator("filter", STATELESS, near, outputs=2, process_columns=near_in_columns)

The function over one record says what is meant, and runs wherever tuples do not come in blocks.
Before a run the two are compared over the first records (`operators.pipeline.columns`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from operators.contract import UsageError
from operators.core.jit import inlined
from operators.core.user_functions import check_arguments

STATELESS, PARTITIONED, STATEFUL = 0, 1, 2
KINDS = ("stateless", "partitioned stateful", "stateful")
MOST_WORDS = 256
MOST_OUTPUTS = 1 << 14
# Of one operator: 8 GiB.
MOST_STATE_WORDS = 1 << 30
# The status of a function whose state has no room for a record.
OVER_LIMIT = -4
# The statuses of a turn: a table of keys is full, the operator has no such key, or a function made
# more outputs than allowed.
TABLE_FULL, NO_SUCH_KEY, TOO_MANY = -3, -5, -6


@inlined
def no_key(record):
    """Return 0, the key of operators without keys."""
    return 0


@inlined
def no_flush(key, state, out):
    """Make no outputs at the end of the stream."""
    return 0


class Operator(NamedTuple):
    """One operator.

    Attributes
    ----------
    name : str
    kind : int
        STATELESS, PARTITIONED or STATEFUL.
    process : callable
        ``process(record, state, out)``, an ``@inlined`` function: returns the number of outputs;
        OVER_LIMIT, like any negative number, if the state has no room for the record, which ends
        the run.
    outputs : int
        Words of an output.
    most : int
        Maximal number of outputs per record; more of them end the run.
    key : callable
        ``key(record)``, 0 or more; of a partitioned operator.
    keys : int
        Upper bound of the keys, each of which has a row of the state; any other key ends the run.
    row_words : int
        Words of a row.
    row_starts : int64 array (keys + 1) or None
        For rows of very different lengths, instead of `row_words`: the row of key `k` has the words
        from ``row_starts[k]`` to before ``row_starts[k + 1]``.
    table_rows : int
        For few distinct keys in a large domain (pairs, say): rows of a hash table in each
        partition, instead of a row for each key below `keys`. More keys than rows are an error.
    lookup : int64 array or None
        Of a stateless operator: the read-only table that its function gets as state.
    process_columns : callable or None
        Of a stateless or stateful operator with ``form="blocks"``, in place of `process`:
        ``process_columns(records, state, out)``, an ``@inlined`` function over consecutive records,
        1 to a block of them. ``records[w]`` has word `w` of all records, ``out[w]`` word `w` of
        all outputs, with room for `most` a record; both are views, in which no words are copied.
        Returns the number of outputs, in the order of the records, or a negative number.
    flush : callable
        ``flush(key, state, out)`` at the end of the stream, for each key in order (for a stateful
        operator once, with key 0): returns the number of outputs.
    """

    name: str
    kind: int
    process: Callable[..., int]
    outputs: int
    most: int = 1
    key: Callable[..., int] = no_key
    keys: int = 1
    row_words: int = 0
    row_starts: np.ndarray | None = None
    table_rows: int = 0
    lookup: np.ndarray | None = None
    flush: Callable[..., int] = no_flush
    process_columns: Callable[..., int] | None = None


class Pipeline(NamedTuple):
    """A linear chain of operators, of any length.

    The kernel takes 12 s to compile with 3 operators, 29 with 12 and 166 with 32, on a core of an
    Intel Xeon (Sapphire Rapids).

    Attributes
    ----------
    name : str
    inputs : int
        Words of a record that enters the pipeline.
    operators : tuple of Operator
    """

    name: str
    inputs: int
    operators: tuple[Operator, ...]

    def inputs_of(self, place: int) -> int:
        """Return the number of words of an operator's input records."""
        return self.operators[place - 1].outputs if place else self.inputs

    def check(self) -> None:
        """Refuse an invalid pipeline.

        Raises
        ------
        UsageError
            The message names the operator, the invalid value and the valid ones.
        """
        if not isinstance(self.operators, Sequence) or not self.operators:
            raise UsageError(f"pipeline {self.name} has no operators; give one or more")
        if not _is_whole(self.inputs) or not 1 <= self.inputs <= MOST_WORDS:
            raise UsageError(
                f"pipeline {self.name} takes records of {self.inputs!r} words; give 1 to"
                f" {MOST_WORDS}"
            )
        for operator in self.operators:
            if not isinstance(operator, Operator):
                raise UsageError(
                    f"an operator of pipeline {self.name} is an Operator, received {operator!r}"
                )
            _check_operator(self.name, operator)


def _is_whole(given: object) -> bool:
    return isinstance(given, int | np.integer) and not isinstance(given, bool)


def _check_words(where: str, name: str, given: object) -> np.ndarray:
    """Return an array of words of an operator; refuse anything but a row of integers."""
    words = np.asarray(given)
    if words.ndim != 1 or words.dtype.kind != "i":
        raise UsageError(
            f"{where}: {name} are whole numbers in a row, received {words.dtype} of shape"
            f" {words.shape}"
        )
    return words


def _check_functions(where: str, operator: Operator) -> None:
    for name, takes in (("process", 3), ("key", 1), ("flush", 3)):
        function = getattr(operator, name)
        if not callable(function):
            raise UsageError(f"{where}: {name} is an inlined function, received {function!r}")
        check_arguments(f"{where}: {name}", function, takes)
    if operator.process_columns is None:
        return
    if not callable(operator.process_columns):
        raise UsageError(
            f"{where}: process_columns is an inlined function, received"
            f" {operator.process_columns!r}"
        )
    if operator.kind == PARTITIONED:
        raise UsageError(
            f"{where} is {KINDS[PARTITIONED]} and has process_columns, whose records would be of"
            " many keys; leave it out"
        )
    check_arguments(f"{where}: process_columns", operator.process_columns, 3)


def _check_row_starts(where: str, operator: Operator) -> None:
    starts = _check_words(where, "row_starts", operator.row_starts)
    if operator.kind != PARTITIONED or operator.table_rows or operator.row_words:
        raise UsageError(
            f"{where} has row_starts, which are of a partitioned operator without a table, in place"
            " of row_words"
        )
    if len(starts) != operator.keys + 1 or starts[0] != 0 or (np.diff(starts) < 0).any():
        raise UsageError(
            f"{where}: row_starts must begin with 0, not decrease, and be one more than the"
            f" {operator.keys} keys, received {len(starts)}"
        )


def _check_operator(pipeline: str, operator: Operator) -> None:
    where = f"operator {operator.name!r} of pipeline {pipeline}"
    if not _is_whole(operator.kind) or operator.kind not in range(len(KINDS)):
        raise UsageError(f"{where} has kind {operator.kind!r}; kinds are {', '.join(KINDS)}")
    _check_functions(where, operator)
    for name, value, least, most in (
        ("outputs", operator.outputs, 1, MOST_WORDS),
        ("most", operator.most, 1, MOST_OUTPUTS),
        ("keys", operator.keys, 1, 1 << 40),
        ("row_words", operator.row_words, 0, 1 << 20),
        ("table_rows", operator.table_rows, 0, 1 << 30),
    ):
        if not _is_whole(value) or not least <= value <= most:
            raise UsageError(
                f"{where}: {name} must be between {least} and {most}, received {value!r}"
            )
    words = operator.row_words * (operator.table_rows or operator.keys)
    if operator.row_starts is not None:
        _check_row_starts(where, operator)
        words = int(operator.row_starts[-1])
    if words > MOST_STATE_WORDS:
        raise UsageError(
            f"{where}: its state has {words} words, and may have {MOST_STATE_WORDS}; give it fewer"
            " keys or shorter rows"
        )
    if operator.kind == STATELESS and (operator.row_words or operator.flush is not no_flush):
        raise UsageError(f"{where} is stateless and has a state; make it stateful or partitioned")
    if operator.lookup is not None:
        _check_words(where, "lookup", operator.lookup)
    if operator.lookup is not None and operator.kind != STATELESS:
        raise UsageError(
            f"{where} is {KINDS[operator.kind]} and has a lookup; its state is its own"
        )
    if operator.table_rows and (operator.kind != PARTITIONED or operator.flush is not no_flush):
        raise UsageError(
            f"{where} has a table, whose keys have no order to be flushed in; give it keys, or no"
            " flush"
        )
    if (operator.kind == PARTITIONED) == (operator.key is no_key):
        raise UsageError(
            f"{where} is {KINDS[operator.kind]} and has {'no' if operator.key is no_key else 'a'}"
            " key; partitioned operators have one, and no others"
        )
