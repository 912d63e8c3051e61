"""A ScaleJoin driven one delivery at a time, and snapshots of it.

Everything is read from the join's state: from the windows before and after a step of a thread, from
the batch that the step leaves behind, and from the lists of both gates.
"""

from __future__ import annotations

from collections.abc import Sequence

from experiments.families.gate.steps import look_at, taken
from experiments.scalejoin.snapshots import Arrived, JoinSnapshot, Pair, Thread, Visit
from operators.contract import READY
from operators.core.layout import aligned_words
from operators.gate import t_gate as gates
from operators.gate.t_gate import TGateState
from operators.theta_join.family import R, Shape, make_extent
from operators.theta_join.number_predicates import bands, number_tables
from operators.theta_join.processing import (
    BATCH,
    COMPARISONS,
    NUMBER,
    RANK,
    SIDE,
    TUPLE_RANK,
    TUPLE_WORDS,
    Joining,
    partner_of,
    rank_of,
)
from operators.theta_join.scale_join import VARIANT as SCALE_JOIN
from operators.theta_join.window import BEGIN, END, FIRST, NEXT, Comparing, Window, place_of

SIDES = "RS"
HALF_WIDTH = 1


class Sample:
    """A ScaleJoin over a few tuples, each with a number; near numbers match.

    Parameters
    ----------
    threads : int
    tuples : sequence of (str, int, int)
        "R" or "S", timestamp, number.
    span : int
        WS.
    """

    def __init__(self, threads: int, tuples: Sequence[tuple[str, int, int]], span: int) -> None:
        self._operations, predicate = SCALE_JOIN.operations, bands(1)
        numbers = [[n for side, _, n in tuples if side == each] for each in SIDES]
        tables = number_tables(*numbers, (HALF_WIDTH,))
        shape, extent = Shape(1, 1, threads, max(len(tuples), 1)), make_extent(span=span)
        self._state = self._operations.make_state(predicate, tables, extent, shape)
        self._step = self._operations.make_step(predicate)
        self._get_output = self._operations.make_get_output(predicate)
        self._delivered = [0, 0]
        self._visits: list[list[Visit]] = [[] for _ in range(threads)]
        self._out = 0

    def deliver(self, side: str, timestamp: int) -> None:
        """Deliver the next tuple of a stream."""
        stream = SIDES.index(side)
        row = self._delivered[stream]
        taken(self._operations.insert_tuple(self._state.shared, stream, timestamp, 0, row))
        self._delivered[stream] += 1

    def close(self, stream: int) -> None:
        """End a stream."""
        taken(self._operations.close_source(self._state.shared, stream))

    def turn(self, threads: Sequence[int]) -> None:
        """Let threads take their ready tuples, and then the output thread the ready pairs."""
        shared = self._state.shared
        for number in threads:
            own, status = self._state.threads[number], READY
            while status == READY:
                before = [_bounds(each) for each in (own.joining.r, own.joining.s)]
                status = self._step(shared, own)
                if status == READY:
                    pairs = [key for key, by, _ in _tuples(shared.gate_out) if by == number]
                    self._visits[number] += _visits(own.joining, before, pairs)
        out = aligned_words(2)
        while self._get_output(shared, self._state.output, out) == READY:
            self._out += 1

    def look(self, told: str) -> JoinSnapshot:
        """Return a snapshot."""
        shared, joining = self._state.shared, [own.joining for own in self._state.threads]
        passed = min(int(each.words[RANK]) for each in joining)
        arrived = [
            Arrived(_name(rank), SIDES[stream], timestamp, "passed" if rank < passed else state)
            for rank, (timestamp, stream, state) in enumerate(_tuples(shared.gate_in))
        ]
        pairs = [
            Pair(_name(rank_of(key)), _name(partner_of(key)), thread,
                 "passed" if place < self._out else state)
            for place, (key, thread, state) in enumerate(_tuples(shared.gate_out))
        ]  # fmt: skip
        threads = [
            Thread(tuple(visits), _names(each.r), _names(each.s), int(each.words[COMPARISONS]))
            for visits, each in zip(self._visits, joining, strict=True)
        ]
        return JoinSnapshot(told, tuple(arrived), tuple(threads), tuple(pairs))


def _tuples(gate: TGateState) -> list[tuple[int, int, str]]:
    """Return timestamp, source and state of every tuple, including passed ones.

    A gate keeps hundreds of tuples before it reclaims any, more than are delivered here.
    """
    look, found = look_at(gate), []
    for place, words in enumerate(look.nodes):
        timestamp = int(words[gates.TIMESTAMP])
        if 0 <= timestamp < gates.END_TIMESTAMP:
            state = "ready" if place < look.stop else "waiting"
            found.append((timestamp, int(words[gates.SOURCE]), state))
    return found


def _visits(own: Joining, before: Sequence[tuple[int, int]], pairs: Sequence[int]) -> list[Visit]:
    """Return a thread's visits in the last step, from the batch left behind and `pairs` so far."""
    batch = own.batch[: TUPLE_WORDS * int(own.words[BATCH])].reshape(-1, TUPLE_WORDS)
    last = {int(words[SIDE]): place for place, words in enumerate(batch)}
    found = []
    for place, words in enumerate(batch):
        side, rank = int(words[SIDE]), int(words[TUPLE_RANK])
        mine, other = (own.r, own.s) if side == R else (own.s, own.r)
        asking = own.asking_r if side == R else own.asking_s
        (first, following), (first_now, following_now) = before[side], _bounds(mine)
        removed = _ranks(mine, first, first_now) if last[side] == place else []
        matched = [partner_of(key) for key in pairs if rank_of(key) == rank]
        found.append(
            Visit(
                name=_name(rank),
                compared=tuple(map(_name, _compared(asking, int(words[NUMBER]), other))),
                matched=tuple(map(_name, matched)),
                stored=rank in _ranks(mine, following, following_now),
                removed=tuple(map(_name, removed)),
            )
        )
    return found


def _compared(asking: Comparing, number: int, window: Window) -> list[int]:
    """Return the ranks of the tuples with which a tuple of the batch was compared."""
    begin, end = asking.ranges[3 * number + BEGIN], asking.ranges[3 * number + END]
    return _ranks(window, int(begin), int(end))


def _bounds(window: Window) -> tuple[int, int]:
    return int(window.words[FIRST]), int(window.words[NEXT])


def _ranks(window: Window, begin: int, end: int) -> list[int]:
    return [int(window.ranks[place_of(window, position)]) for position in range(begin, end)]


def _names(window: Window) -> tuple[str, ...]:
    return tuple(map(_name, _ranks(window, *_bounds(window))))


def _name(rank: int) -> str:
    return f"t{int(rank) + 1}"
