"""Encode columns as the words that flow through a plan, and decode them.

Every word is an int64: an integer itself, the bits of a double, or the *code* of a text. Codes are
ranks: of all texts in the inputs and in the query, the first by UTF-8 bytes has 0. So codes are
equal if texts are, and ascend as they do, and no operator behind the sources ever sees a text.

A *stream* is the whole data of one sender of an input, as an int64 array (words, tuples): first the
order key of an input, ts, source and position, then the columns in the order of the schema without
ts. The output of a plan has the same form, with the key of that output.

# ASSUME: all texts are known before the first tuple is sent, as in recorded data. A stream without
# end would need codes that leave room between two texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from operators.contract import TIMESTAMP_LIMIT, UsageError
from operators.streamcloud.algebra import Query, computed_by
from operators.streamcloud.expressions import Expression
from operators.streamcloud.order import INPUT_WORDS
from operators.streamcloud.schema import DOUBLE, INT64, TEXT, TIME, Schema, did_you_mean, listed

# The content of one physical stream, by the outside names of the columns.
Columns = Mapping[str, Any]


class Coding:
    """The codes of texts.

    Parameters
    ----------
    texts : iterable of str
        All of them, in any order, duplicates allowed.

    Attributes
    ----------
    labels : array of str objects
        By code.
    codes : dict of str to int

    Examples
    --------
    >>> coding = Coding(["b", "é", "a", "b"])
    >>> coding.encode(["é", "a"]).tolist(), coding.decode(np.array([1])).tolist()
    ([2, 0], ['b'])
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        # Texts compare by code points, which is the order of their UTF-8 bytes.
        known = sorted(set(texts))
        self.labels = np.array(known, dtype=object)
        self.codes = {text: code for code, text in enumerate(known)}

    def encode(self, texts: Iterable[str]) -> np.ndarray:
        """Return the codes of known texts, int64."""
        return np.fromiter(map(self.codes.__getitem__, texts), np.int64)

    def decode(self, codes: np.ndarray) -> np.ndarray:
        """Return the texts of codes, as objects."""
        return self.labels[codes]


def texts_of(query: Query) -> Iterator[str]:
    """Yield the texts in the expressions of a query."""
    for node in query.operators:
        for computed in computed_by(node):
            if isinstance(computed, Expression):
                yield from computed.texts


# --- inputs ---------------------------------------------------------------------------------------


def encode_inputs(
    query: Query, inputs: Mapping[str, Sequence[Columns]]
) -> tuple[dict[str, list[np.ndarray]], Coding]:
    """Return the streams of all inputs as words, and the coding of their texts.

    Parameters
    ----------
    query : Query
    inputs : mapping of str to sequence of Columns
        By input, the physical streams.

    Raises
    ------
    UsageError
        When an input or a column is missing, a column has another type, or times fall: input,
        stream, column, position.
    """
    _check_names(query, inputs)
    checked: dict[str, list[dict[str, np.ndarray]]] = {}
    texts: list[np.ndarray] = []
    source = 0
    for node in query.inputs:
        checked[node.name] = []
        for given in inputs[node.name]:
            columns = checked_columns(
                f"{node.name}: stream {source}", node.schema, given, node.time
            )
            checked[node.name].append(columns)
            texts += [columns[name] for name, kind in node.schema.columns if kind == TEXT]
            source += 1
    coding = Coding(text for each in (texts_of(query), *texts) for text in each)
    streams: dict[str, list[np.ndarray]] = {}
    source = 0
    for node in query.inputs:
        streams[node.name] = []
        for columns in checked[node.name]:
            streams[node.name].append(as_words(node.schema, source, columns, coding))
            source += 1
    return streams, coding


def _check_names(query: Query, inputs: Mapping[str, Sequence[Columns]]) -> None:
    names = [each.name for each in query.inputs]
    for name in inputs:
        if name not in names:
            raise UsageError(
                f'{query.name}: no input "{name}" ({listed(names)}){did_you_mean(name, names)}'
            )
    for name in names:
        if name not in inputs:
            raise UsageError(
                f"{query.name}: nothing is given for the input {name}; it takes {listed(names)}"
            )
        if not len(inputs[name]):
            raise UsageError(f"{name}: an input has at least one stream, if an empty one")


def checked_columns(
    where: str, schema: Schema, given: Columns, time: str = TIME
) -> dict[str, np.ndarray]:
    """Return the columns of a stream or a piece of it, checked for type and order of time.

    Parameters
    ----------
    where : str
        The name of the stream, for messages.
    schema : Schema
    given : Columns
    time : str
        The outside name of the time column.

    Raises
    ------
    UsageError
        When a column is missing or has another type, or times fall.
    """
    columns: dict[str, np.ndarray] = {}
    for name, kind in schema.columns:
        outside = time if name == TIME else name
        if outside not in given:
            raise UsageError(
                f'{where}: no column "{outside}" ({listed(given)}){did_you_mean(outside, given)}'
            )
        columns[name] = _CHECKED[kind](f"{where}: column {outside}", given[outside])
        if len(columns[name]) != len(columns[TIME]):
            raise UsageError(
                f"{where}: column {outside} has {len(columns[name])} values, and {time} has"
                f" {len(columns[TIME])}: the columns of a stream are of one length"
            )
    _check_times(where, columns[TIME])
    return columns


def _check_times(where: str, times: np.ndarray) -> None:
    wrong = np.flatnonzero((times < 0) | (times >= TIMESTAMP_LIMIT))
    if len(wrong):
        at = int(wrong[0])
        raise UsageError(f"{where}, position {at}: time {times[at]} is not between 0 and 2**62 - 1")
    falls = np.flatnonzero(times[1:] < times[:-1])
    if len(falls):
        at = int(falls[0]) + 1
        raise UsageError(
            f"{where}, position {at}: time {times[at]} is before {times[at - 1]}: a stream is in"
            " the order of time"
        )


def _array(where: str, given: Any) -> np.ndarray:
    try:
        return np.asarray(given)
    except ValueError:
        raise UsageError(f"{where}: must be values in a row, received rows of values") from None


def _integers(where: str, given: Any) -> np.ndarray:
    found = _array(where, given)
    if found.ndim != 1 or (found.dtype.kind not in "iu" and found.size):
        raise UsageError(
            f"{where}: must be whole numbers in a row, received {found.dtype} of shape"
            f" {found.shape}"
        )
    if found.dtype.kind == "u" and found.size and int(found.max()) > np.iinfo(np.int64).max:
        raise UsageError(f"{where}: {found.max()} does not fit 64 bits with a sign")
    return found.astype(np.int64)


def _doubles(where: str, given: Any) -> np.ndarray:
    found = _array(where, given)
    if found.ndim != 1 or (found.dtype.kind not in "iuf" and found.size):
        raise UsageError(
            f"{where}: must be numbers in a row, received {found.dtype} of shape {found.shape}"
        )
    found = found.astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(found))
    if len(wrong):
        at = int(wrong[0])
        raise UsageError(f"{where}, position {at}: {found[at]} is no finite number")
    return found


def _texts(where: str, given: Any) -> np.ndarray:
    found = np.asarray(given, dtype=object)
    if found.ndim != 1:
        raise UsageError(f"{where}: must be texts in a row, received shape {found.shape}")
    for at, text in enumerate(found):
        if not isinstance(text, str):
            raise UsageError(f"{where}, position {at}: {text!r} is no text")
    return found


_CHECKED = {INT64: _integers, DOUBLE: _doubles, TEXT: _texts}


def as_words(
    schema: Schema,
    source: int,
    columns: Mapping[str, np.ndarray],
    coding: Coding,
    first: int = 0,
) -> np.ndarray:
    """Return a stream, or a piece of it that begins at a position, as words."""
    tuples = len(columns[TIME])
    words = np.empty((INPUT_WORDS + len(schema.columns) - 1, tuples), dtype=np.int64)
    words[0] = columns[TIME]
    words[1] = source
    words[2] = np.arange(first, first + tuples)
    for row, (name, kind) in enumerate(schema.columns[1:], start=INPUT_WORDS):
        if kind == DOUBLE:
            words[row] = columns[name].view(np.int64)
        else:
            words[row] = coding.encode(columns[name]) if kind == TEXT else columns[name]
    return words


# --- outputs --------------------------------------------------------------------------------------


def decode(schema: Schema, width: int, words: np.ndarray, coding: Coding) -> dict[str, np.ndarray]:
    """Return tuples by column, ts first.

    Parameters
    ----------
    schema : Schema
        Of the output.
    width : int
        Words of the order keys (`order.key_width`).
    words : int64 array (words, tuples)
    coding : Coding

    Returns
    -------
    dict of str to array
        int64, float64, or texts as objects.
    """
    columns = {TIME: words[0].copy()}
    for row, (name, kind) in enumerate(schema.columns[1:], start=width):
        if kind == DOUBLE:
            columns[name] = words[row].copy().view(np.float64)
        else:
            columns[name] = coding.decode(words[row]) if kind == TEXT else words[row].copy()
    return columns
