"""The reference output of a query: one instance of everything, in plain Python, obvious and slow.

Each operator is a function from whole input streams, in total order, to whole output streams.
`operators.streamcloud.order` has the order; a tuple is paired with an order key. The only code
shared with the engine is the records of the query, the meaning of expressions, and the text of
errors.

Semantics of the operators (notes of the paper, and `operators.streamcloud.algebra`):

1. *Join, product*: a pair is near when its times are at most the window's size apart, or, in a
   window of count, when the earlier tuple is among the last so many of that side that came before
   the later one. The predicate is evaluated for near pairs whose ``on`` columns are equal, and for
   no others.
2. *Aggregate*: one row for each window and group that has a tuple, by start, then group ascending,
   the windows at the end of the streams too. Windows of count are put out when they are full, and
   never if they do not fill. ``# ASSUME:`` such a row has the time of the tuple that filled the
   window: with the time of the first tuple, as in the paper, a rare group would be out of order by
   any amount.
3. *Sums* are exact and then rounded once, so that no result depends on the order of addition; an
   average divides that sum once. Of several equal least or largest values the first counts.
4. Overflow, division by zero, and an exception of a user's function are errors that name operator,
   column and tuple.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from operators.contract import TIMESTAMP_LIMIT, UsageError
from operators.streamcloud.algebra import (
    SIDES,
    SMALLER,
    Aggregate,
    Filter,
    Input,
    Join,
    Map,
    Node,
    Output,
    Product,
    Query,
    Union,
)
from operators.streamcloud.faults import compute, shown
from operators.streamcloud.schema import DOUBLE, INT64, TIME, Schema, listed
from operators.streamcloud.terms import LEAST, MOST, within_limits
from operators.streamcloud.windows import OLDEST, CountWindow

Key = tuple[Any, ...]
Row = tuple[Any, ...]
Streams = Mapping[str, Sequence[Sequence[Row]]]


class Keyed(NamedTuple):
    """A tuple and its order key in the total order."""

    key: Key
    row: Row

    @property
    def ts(self) -> int:
        """The time."""
        return self.row[0]


def run(query: Query, streams: Streams) -> dict[str, list[Row]]:
    """Return the rows of each output, in total order.

    Parameters
    ----------
    query : Query
    streams : mapping of str to sequence of sequence of rows
        By input, its physical streams: rows in the order of the schema, ``ts`` first.

    Raises
    ------
    UsageError
        When a stream is missing or wrong, or an expression fails: operator and tuple.

    Examples
    --------
    >>> from operators.streamcloud.algebra import Input, Map, Query
    >>> calls = Input("calls", {"duration": "int64"})
    >>> minutes = Map("minutes", calls, {"minutes": "duration // 60"})
    >>> run(Query("short", minutes), {"calls": [[(1, 130)], [(0, 59)]]})
    {'minutes': [(0, 0), (1, 2)]}
    """
    return {name: [each.row for each in found] for name, found in run_keyed(query, streams).items()}


def run_keyed(query: Query, streams: Streams) -> dict[str, list[Keyed]]:
    """Return the rows of `run`, each with its order key."""
    _check_names(query, streams)
    found: dict[Output, list[Keyed]] = {}
    first = 0
    for node in query.nodes:
        if isinstance(node, Input):
            found[Output(node)] = _input(node, streams[node.name], first)
            first += len(streams[node.name])
        else:
            results = _RESULTS[type(node)](node, *(found[taken] for taken in node.inputs))
            found.update(zip(node.outputs, results, strict=True))
    return {output.name: found[output] for output in query.outputs}


# --- streams --------------------------------------------------------------------------------------


def _check_names(query: Query, streams: Streams) -> None:
    names = [each.name for each in query.inputs]
    if set(streams) != set(names):
        raise UsageError(
            f"{query.name}: takes the inputs {listed(names)}, received {listed(streams)}"
        )


def _input(node: Input, streams: Sequence[Sequence[Row]], first: int) -> list[Keyed]:
    found = []
    for source, stream in enumerate(streams, start=first):
        last = 0
        for position, row in enumerate(stream):
            _check_row(node, source, position, row)
            if row[0] < last:
                raise UsageError(
                    f"{node.name}: stream {source}, position {position}: time {row[0]} is before"
                    f" {last}: a stream is in the order of time"
                )
            last = row[0]
            found.append(Keyed((row[0], source, position), tuple(row)))
    return sorted(found)


def _check_row(node: Input, source: int, position: int, row: Row) -> None:
    where = f"{node.name}: stream {source}, position {position}"
    if len(row) != len(node.schema.columns):
        raise UsageError(f"{where}: {row} is none of {node.schema}")
    for (name, kind), value in zip(node.schema.columns, row, strict=True):
        if not _is_of(kind, value):
            raise UsageError(f"{where}: {name} is {value!r}, which is no {kind}")
    _check_time(where, row[0])


def _is_of(kind: str, value: object) -> bool:
    if kind == INT64:
        return type(value) is int and LEAST <= value <= MOST
    if kind == DOUBLE:
        return type(value) is float and math.isfinite(value)
    return type(value) is str


def _check_time(where: str, time: int, at: str = "") -> None:
    if not 0 <= time < TIMESTAMP_LIMIT:
        raise UsageError(f"{where}: time {time} is not between 0 and 2**62 - 1{at}")


def _columns(schema: Schema, row: Row, side: str = "") -> dict[str, Any]:
    """Return a tuple by column, as expressions name them."""
    return {side + name: value for name, value in zip(schema.names, row, strict=True)}


# --- stateless operators --------------------------------------------------------------------------


def _map(node: Map, taken: list[Keyed]) -> Iterator[list[Keyed]]:
    found: list[Keyed] = []
    for each in taken:
        row = _columns(node.inputs[0].schema, each.row)
        values = {
            name: compute(f"{node.name}.columns.{name}", computed, row)
            for name, computed in node.columns
        }
        key, values = each.key, {TIME: each.ts, **values}
        if node.sets_time:
            where, last = f"{node.name}.columns.{TIME}", found[-1].ts if found else 0
            at = f", at the tuple ({shown(row)})"
            _check_time(where, values[TIME], at)
            if values[TIME] < last:
                raise UsageError(
                    f"{where}: the time goes backwards, from {last} to {values[TIME]}{at}"
                )
            key = (values[TIME], *key)
        found.append(Keyed(key, tuple(values[name] for name in node.schemas[0].names)))
    yield found


def _filter(node: Filter, taken: list[Keyed]) -> Iterator[list[Keyed]]:
    found: list[list[Keyed]] = [[] for _ in node.outputs]
    for each in taken:
        row = _columns(node.inputs[0].schema, each.row)
        true = (
            number
            for number, predicate in enumerate(node.predicates)
            if compute(f"{node.name}.where.{number}", predicate, row)
        )
        found[next(true, len(node.predicates))].append(each)
    yield from found


def _union(node: Union, *taken: list[Keyed]) -> Iterator[list[Keyed]]:
    yield _together(taken)


def _together(taken: Iterable[list[Keyed]]) -> list[Keyed]:
    """Return the tuples of several inputs in the order in which an operator takes them."""
    return sorted(
        Keyed((each.ts, side, *each.key[1:]), each.row)
        for side, stream in enumerate(taken)
        for each in stream
    )


# --- joins ----------------------------------------------------------------------------------------


def _product(node: Product, *taken: list[Keyed]) -> Iterator[list[Keyed]]:
    found = []
    arrived: tuple[list[Keyed], list[Keyed]] = [], []
    for later in _together(taken):
        side = later.key[1]
        for earlier in _near(node, later, arrived[1 - side]):
            pair = (earlier.row, later.row) if side else (later.row, earlier.row)
            row = _joined(node, *pair)
            if row is not None:
                key = (*later.key, *earlier.key)
                found.append(Keyed((row[0], *key) if node.time == SMALLER else key, row))
        # With the original key again, without the side.
        arrived[side].append(Keyed((later.ts, *later.key[2:]), later.row))
    yield sorted(found)


def _near(node: Product, later: Keyed, opposite: list[Keyed]) -> list[Keyed]:
    size = node.window.size
    if isinstance(node.window, CountWindow):
        return opposite[-size:]
    return [earlier for earlier in opposite if later.ts - earlier.ts <= size]


def _joined(node: Product, left: Row, right: Row) -> Row | None:
    """Return the row of a pair, or None where it does not match."""
    row: dict[str, Any] = {}
    for side, taken, values in zip(SIDES, node.inputs, (left, right), strict=True):
        row |= _columns(taken.schema, values, f"{side}.")
    if isinstance(node, Join) and any(row[f"left.{a}"] != row[f"right.{b}"] for a, b in node.on):
        return None
    if node.where is not None and not compute(f"{node.name}.where", node.where, row):
        return None
    times = left[0], right[0]
    time = min(times) if node.time == SMALLER else max(times)
    values = (compute(f"{node.name}.columns.{name}", each, row) for name, each in node.columns)
    return (time, *values)


# --- aggregates -----------------------------------------------------------------------------------


class _Contribution(NamedTuple):
    """The values of a tuple for its windows: one a column, None for a column without argument."""

    key: Key
    ts: int
    values: tuple[Any, ...]


def _aggregate(node: Aggregate, taken: list[Keyed]) -> Iterator[list[Keyed]]:
    groups: dict[Key, list[_Contribution]] = defaultdict(list)
    for each in taken:
        row = _columns(node.inputs[0].schema, each.row)
        values = tuple(
            None if argument is None else compute(f"{node.name}.columns.{name}", argument, row)
            for name, _, argument in node.columns
        )
        group = tuple(row[column] for column in node.group_by)
        groups[group].append(_Contribution(each.key, each.ts, values))
    found = []
    for group, members in groups.items():
        for start, inside in _windows(node, members):
            counted = isinstance(node.window, CountWindow)
            key = inside[-1].key if counted else (start, *group)
            found.append(Keyed(key, (start, *group, *_results(node, start, group, inside))))
    yield sorted(found)


def _windows(
    node: Aggregate, members: list[_Contribution]
) -> Iterator[tuple[int, list[_Contribution]]]:
    """Yield time and tuples of each window of a group."""
    size, advance = node.window.size, node.window.advance
    if isinstance(node.window, CountWindow):
        for first in range(0, len(members) - size + 1, advance):
            inside = members[first : first + size]
            yield inside[-1].ts, inside
    elif node.window.start == OLDEST:
        waiting = members
        while waiting:
            start = waiting[0].ts
            yield start, [each for each in waiting if each.ts <= start + size]
            waiting = [each for each in waiting if each.ts >= start + advance]
    else:
        starts = {
            start
            for each in members
            for start in range(each.ts // advance * advance, each.ts - size, -advance)
            if start >= 0
        }
        for start in starts:
            yield start, [each for each in members if start <= each.ts < start + size]


def _results(node: Aggregate, start: int, group: Key, inside: list[_Contribution]) -> Iterator[Any]:
    for place, column in enumerate(node.columns):
        values = [each.values[place] for each in inside]
        try:
            yield _result(column.function, column.type, values)
        except OverflowError as error:
            raise UsageError(
                f"{node.name}.columns.{column.name}: {column.function}() of the window at {start}"
                f", group {group}: {error}"
            ) from error


def _result(function: str, kind: str, values: list[Any]) -> Any:
    if function == "count":
        return len(values)
    if function == "first":
        return values[0]
    if function in ("min", "max"):
        return min(values) if function == "min" else max(values)
    total = sum(values) if isinstance(values[0], int) else _rounded(sum(map(Fraction, values)))
    if function == "avg":
        return float(total) / len(values)
    return within_limits(total, kind)


def _rounded(total: Fraction) -> float:
    try:
        return float(total)
    except OverflowError:
        raise OverflowError("overflow of a double") from None


_RESULTS: dict[type[Node], Any] = {
    Map: _map,
    Filter: _filter,
    Union: _union,
    Aggregate: _aggregate,
    Product: _product,
    Join: _product,
}
