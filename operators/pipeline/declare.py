"""How a user defines a pipeline: operators in a row, each a small function.

A *record* is some int64 words. An operator's function takes one and writes what it makes of it::

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

The second argument is the operator's state: of a stateful operator its one row of words, of a
partitioned one the row of the record's key, zeros at first. So functions need no locks: no two
threads are given one row at the same time, and records of one key come in their order. A stateless
operator may have a table to look things up in, which nobody writes.

More than one output is written behind each other: output `k` begins at ``out[k * outputs]``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from operators.contract import UsageError
from operators.core.jit import inlined

STATELESS, PARTITIONED, STATEFUL = 0, 1, 2
KINDS = ("stateless", "partitioned stateful", "stateful")
MOST_WORDS = 256
MOST_OUTPUTS = 1 << 14
# Of one operator: 8 GiB.
MOST_STATE_WORDS = 1 << 30
# What a function answers whose state has no room for a record.
OVER_LIMIT = -4
# What a turn answers where a table of keys has no more rows, where a key is none that its operator
# has, and where a function made more outputs than it may.
TABLE_FULL, NO_SUCH_KEY, TOO_MANY = -3, -5, -6


@inlined
def no_key(record):
    """Return 0: the key of operators that have none."""
    return 0


@inlined
def no_flush(key, state, out):
    """Put nothing out at the end of the stream."""
    return 0


class Operator(NamedTuple):
    """One operator.

    Attributes
    ----------
    name : str
    kind : int
        STATELESS, PARTITIONED or STATEFUL.
    process : callable
        ``process(record, state, out)``, an ``@inlined`` function: how many outputs it made;
        OVER_LIMIT, as any number below 0, when its state has no room for the record, which ends the
        run.
    outputs : int
        Words of an output.
    most : int
        Outputs of one record, at most; more of them end the run.
    key : callable
        ``key(record)``, from 0 up, of a partitioned operator.
    keys : int
        Keys lie below this, and each has a row of the state; another key ends the run.
    row_words : int
        Words of a row.
    row_starts : int64 array (keys + 1) or None
        Where rows differ much in what they hold, in place of `row_words`: the row of key `k` has
        the words from ``row_starts[k]`` to before ``row_starts[k + 1]``.
    table_rows : int
        Where keys are few among very many (pairs, say): rows of a hash table in each partition, in
        place of a row for each key below `keys`. More keys than that are an error.
    lookup : int64 array or None
        Of a stateless operator: what its function is given as state, to read only.
    flush : callable
        ``flush(key, state, out)`` at the end of the stream, for each key in their order (for a
        stateful operator once, with key 0): how many outputs it made.
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


class Pipeline(NamedTuple):
    """A linear chain of operators, of any length.

    Its kernel takes 12 s to compile with 3 operators, 29 with 12 and 166 with 32, on a core of an
    Intel Xeon (Sapphire Rapids).

    Attributes
    ----------
    name : str
    inputs : int
        Words of a record that enters.
    operators : tuple of Operator
    """

    name: str
    inputs: int
    operators: tuple[Operator, ...]

    def inputs_of(self, place: int) -> int:
        """Return how many words the records have that an operator takes."""
        return self.operators[place - 1].outputs if place else self.inputs

    def check(self) -> None:
        """Refuse a pipeline that could not run.

        Raises
        ------
        UsageError
            Naming the operator, what it has and what it may have.
        """
        if not self.operators:
            raise UsageError(f"pipeline {self.name} has no operators; give one or more")
        if not 1 <= self.inputs <= MOST_WORDS:
            raise UsageError(
                f"pipeline {self.name} takes records of {self.inputs} words; give 1 to {MOST_WORDS}"
            )
        for operator in self.operators:
            _check_operator(self.name, operator)


def _check_row_starts(where: str, operator: Operator) -> None:
    starts = np.asarray(operator.row_starts)
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
    if operator.kind not in range(len(KINDS)):
        raise UsageError(f"{where} has kind {operator.kind!r}; kinds are {', '.join(KINDS)}")
    for name, value, least, most in (
        ("outputs", operator.outputs, 1, MOST_WORDS),
        ("most", operator.most, 1, MOST_OUTPUTS),
        ("keys", operator.keys, 1, 1 << 40),
        ("row_words", operator.row_words, 0, 1 << 20),
        ("table_rows", operator.table_rows, 0, 1 << 30),
    ):
        if not least <= value <= most:
            raise UsageError(
                f"{where}: {name} must be between {least} and {most}, received {value}"
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
