"""One instance at a time, step by step: the waiting tuples of its mergers, and its windows.

Source, balancers, instances and outputs are the measured ones; here the caller decides the order in
which rows arrive, and takes a snapshot after each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from experiments.streamcloud.snapshots import (
    GridSnapshot,
    MergerStep,
    MergerSteps,
    SenderLook,
    SideLook,
)
from operators.streamcloud.algebra import Filter, Input, Output, Product, Query
from operators.streamcloud.coding import Coding, encode_inputs
from operators.streamcloud.compiler import compile_query
from operators.streamcloud.instance import Instance
from operators.streamcloud.merger import Transparent
from operators.streamcloud.partition import LEFT, RIGHT, Grid
from operators.streamcloud.parts import Parts
from operators.streamcloud.plan import SUBQUERY_CLUSTER, TRANSPARENT
from operators.streamcloud.rows import END, Row, column_place
from operators.streamcloud.windows import TimeWindow

NUMBERS, LETTERS, PAIRS = "numbers", "letters", "pairs"
VALUE = "value"
# Progress (watermark) of a sender that has announced none: before any time.
NOTHING_TOLD = 0


class Arrival(NamedTuple):
    """The arrival of a tuple at an instance.

    Attributes
    ----------
    name : str
    time : int
    sender : int
        Number of the sender on its side.
    """

    name: str
    time: int
    sender: int = 0


def is_number(name: str) -> bool:
    """Say whether a tuple is one of the numbers; others are letters."""
    return name.isdecimal()


def pairs_query(span: int) -> Query:
    """Return the paper's Cartesian product: number and letter at most `span` apart in time."""
    numbers = Input(NUMBERS, {VALUE: "text"})
    letters = Input(LETTERS, {VALUE: "text"})
    columns = {"number": f"left.{VALUE}", "letter": f"right.{VALUE}"}
    return Query(PAIRS, Product(PAIRS, (numbers, letters), TimeWindow(span), columns))


def product_steps(
    title: str, arrivals: Sequence[Arrival], span: int, merger: str, wanted: Sequence[str] = ()
) -> MergerSteps:
    """Give tuples to one instance of the product in the given order.

    Each sender closes with its last tuple; before, its progress is the time of its next one.

    Parameters
    ----------
    title : str
    arrivals : sequence of Arrival
        For each sender, times ascend.
    span : int
        Size of the window.
    merger : str
    wanted : sequence of str
        The expected output.
    """
    streams = {
        name: [
            _stream([a for a in own if a.sender == sender])
            for sender in range(1 + max((a.sender for a in own), default=0))
        ]
        for name, own in (
            (NUMBERS, [each for each in arrivals if is_number(each.name)]),
            (LETTERS, [each for each in arrivals if not is_number(each.name)]),
        )
    }
    parts = _parts(pairs_query(span), streams, 1, merger)
    (instance,) = parts.instances[0]
    rows: dict[tuple[int, int], list[Row]] = {}
    for row in _source_rows(parts):
        rows.setdefault((row.side, row.sender), []).append(row)
    look = _Looks(parts, instance)
    empty = [row for own in rows.values() for row in own if not row.batch.shape[1]]
    instance.step(empty)  # from senders without any tuple
    steps = []
    for each in arrivals:
        side = LEFT if is_number(each.name) else RIGHT
        row = rows[side, each.sender].pop(0)
        sent = instance.step([row])
        steps.append(look.behind(each, _named_pairs(parts, sent[0][0].batch)))
    made = {name for step in steps for name in step.made}
    return MergerSteps(title, tuple(steps), tuple(each for each in wanted if each not in made))


def _stream(own: Sequence[Arrival]) -> dict[str, list]:
    return {"ts": [each.time for each in own], VALUE: [each.name for each in own]}


def _parts(
    query: Query, streams: Mapping[str, Sequence[Mapping]], instances: int, merger: str
) -> Parts:
    """Return the parts of a query's plan, with one tuple per blob."""
    words, coding = encode_inputs(query, streams)
    counts = {name: len(own) for name, own in words.items()}
    plan = compile_query(query, SUBQUERY_CLUSTER, instances, merger, counts)
    return Parts(plan, words, coding, blob=1)


def _source_rows(parts: Parts) -> Iterator[Row]:
    """Yield all rows that the source sends."""
    while sent := parts.next_blob():
        yield from (each.row for each in sent)


def _progress(value: int) -> str:
    return "end" if value == END else "" if value == NOTHING_TOLD else str(value)


def _names(batch: np.ndarray, output: Output, coding: Coding, column: str = VALUE) -> list[str]:
    """Return the values of a text column."""
    return [str(name) for name in coding.decode(batch[column_place(output, column)])]


def _named_pairs(parts: Parts, batch: np.ndarray) -> tuple[str, ...]:
    (output,) = (sink.output for sink in parts.plan.sinks)
    both = [_names(batch, output, parts.coding, name) for name in ("number", "letter")]
    return tuple(f"{number} {letter}" for number, letter in zip(*both, strict=True))


def _sender_looks(
    merger: Transparent, side: int, name: Callable[[Output, np.ndarray], list[str]]
) -> tuple[SenderLook, ...]:
    return tuple(
        SenderLook(
            tuple(each for part in sender.parts for each in name(sender.feed.output, part)),
            _progress(sender.progress),
        )
        for sender in merger.sides[side].senders
    )


class _Looks:
    """Snapshots of an instance of the product, with the changes since the previous one."""

    def __init__(self, parts: Parts, instance: Instance) -> None:
        self._parts, self._instance = parts, instance
        self._before: list[list[str]] = [[], []]

    def behind(self, came: Arrival, made: tuple[str, ...]) -> MergerStep:
        """Return the state after a step."""
        merger, ((node, operator),) = self._instance.merger, self._instance.operators
        sides = []
        for side, taken in enumerate(node.inputs):
            senders = _sender_looks(
                merger, side, lambda output, part: _names(part, output, self._parts.coding)
            )
            window = _names(operator.windows[side].live, taken, self._parts.coding)
            waiting = {name for each in senders for name in each.waiting}
            own = is_number(came.name) == (side == LEFT)
            there = [*self._before[side], *([came.name] if own else [])]
            gone = [name for name in there if name not in window and name not in waiting]
            self._before[side] = [*window, *waiting]
            sides.append(SideLook(taken.node.name, senders, tuple(window), tuple(gone)))
        return MergerStep(
            f"{came.name} at {came.time}", tuple(sides), _progress(merger.progress), made
        )


# --- a sender that is silent ----------------------------------------------------------------------


def silent_steps(title: str, tuples: int, progress: bool) -> MergerSteps:
    """Run a filter on two instances that passes every other tuple, so that one of them sends none.

    A snapshot of the output's merger is taken after each tuple of the source.

    Parameters
    ----------
    title : str
    tuples : int
        The tuples 0, 1, 2, ...; the odd ones pass.
    progress : bool
        Whether rows without tuples are sent as well. Without them a sender that has no tuple
        sends no watermark until it closes.
    """
    numbers = Input(NUMBERS, {"number": "int64"})
    odd = Filter("odd", numbers, ["number % 2 == 1"])
    stream = {"ts": list(range(tuples)), "number": list(range(tuples))}
    parts = _parts(Query("odd", Output(odd, 0)), {NUMBERS: [stream]}, 2, TRANSPARENT)
    (sink,) = parts.sinks
    seqs: dict[int, int] = {}
    steps: list[MergerStep] = []

    def name(output: Output, part: np.ndarray) -> list[str]:
        return [str(number) for number in part[column_place(output, "number")]]

    while sent := parts.next_blob():
        rows = [row for to, own in sent for _, row in parts.step(to, own.dest, [own])]
        kept = [row for row in rows if progress or row.batch.shape[1] or row.progress == END]
        # Sequence numbers are assigned anew, without the dropped rows.
        for row in kept:
            seq = seqs.get(row.sender, 0)
            seqs[row.sender] = seq + 1
            sink.take([row._replace(seq=seq)])
        came = len(steps)
        out = sink.columns(parts.coding)["number"]
        before = sum(len(step.made) for step in steps)
        side = SideLook(sink.output.name, _sender_looks(sink.merger, 0, name), None, ())
        made = tuple(str(number) for number in out[before:])
        steps.append(
            MergerStep(f"{came} at {came}", (side,), _progress(sink.merger.progress), made)
        )
    return MergerSteps(title, tuple(steps), ())


# --- the grid of a product ------------------------------------------------------------------------


def grid(instances: int, tuples: int) -> GridSnapshot:
    """Compare numbers with equally many letters on a grid of instances, and note who did which.

    Parameters
    ----------
    instances : int
    tuples : int
        Tuples of each side; at most 26.
    """
    names = [str(number) for number in range(tuples)], [chr(65 + n) for n in range(tuples)]
    query = pairs_query(tuples)
    streams = {
        side: [_stream([Arrival(name, time) for time, name in enumerate(own)])]
        for side, own in zip((NUMBERS, LETTERS), names, strict=True)
    }
    parts = _parts(query, streams, instances, TRANSPARENT)
    gets: list[dict[str, set[int]]] = [{}, {}]
    compared: dict[str, list[int]] = {}
    for row in _source_rows(parts):
        feed = parts.plan.stages[0].mergers[row.side].feeds[0]
        for name in _names(row.batch, feed.output, parts.coding):
            gets[row.side].setdefault(name, set()).add(row.dest)
        for _, sent in parts.step(0, row.dest, [row]):
            for pair in _named_pairs(parts, sent.batch):
                compared.setdefault(pair, []).append(row.dest)
    left, right = (
        sorted(own, key=lambda name, got=got: (min(got[name]), own.index(name)))
        for own, got in zip(names, gets, strict=True)
    )
    (partition, _) = (merger.partition for merger in parts.plan.stages[0].mergers)
    assert isinstance(partition, Grid)
    return GridSnapshot(
        instances,
        partition.rows,
        partition.columns,
        tuple(left),
        tuple(right),
        tuple(tuple(tuple(compared.get(f"{a} {b}", ())) for b in right) for a in left),
        (len(gets[LEFT][left[0]]), len(gets[RIGHT][right[0]])),
    )
