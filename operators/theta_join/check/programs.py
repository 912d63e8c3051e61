"""The parts of theta joins' scenarios: a join of a few tuples, the calls, and the judgement.

At the end the remaining work is done, one thread after the other, and the resulting pairs are
compared with ``reference``: in order if the variant says so, each with its record.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from inspect import signature
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from operators.check.history import HistoryOperation
from operators.check.scenario import NO_END, Call, Scenario
from operators.contract import ACCEPTED, END, FULL, NOT_READY, READY, Variant
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.spin_lock import acquire, make_spin_locks, release
from operators.theta_join import reference
from operators.theta_join.family import Extent, R, S, Shape, State, make_extent
from operators.theta_join.handshake import SENT
from operators.theta_join.number_predicates import bands, condition, number_tables
from operators.theta_join.predicates import Predicate
from operators.theta_join.processing import partner_of, rank_of
from operators.theta_join.window import FIRST, NEXT, Window

Program = tuple[Call, ...]
# Timestamp and numbers, as many for each tuple of a program.
Tuples = tuple[tuple[int, ...], ...]

DELIVER, DRIVE, STEP, TAKE = "deliver", "drive", "step", "take"
HALF_WIDTH = 1
# The most pairs of a program.
LOG = 16
WINDOW = 8


class ThetaProgram(NamedTuple):
    """A scenario of a theta join.

    Attributes
    ----------
    name : str
    r, s : tuple of tuples of int
        The tuples of both streams, one physical stream each: timestamp and number, or several
        numbers. Tuples match if their numbers differ by one at most.
    programs : tuple of tuples of Call
        One a thread.
    before : tuple of Call
        The calls made before the threads begin.
    extent : Extent
    threads : int
        Processing threads of the join.
    own : dict
        Parameters of the variant.
    filled : int
        The number of first tuples that are in the windows initially.
    last_slot : bool
        Whether the first tuple takes the last slot of a window, and the next one begins anew: only
        if none are `filled`.
    to_the_end : bool
        Whether each call is repeated until it answers END.
    deep : bool
    schedules : float
    graph : bool
        As in `Scenario`.
    own_condition : bool
        Whether the band is given as a condition of a user, over two numbers.
    """

    name: str
    r: Tuples
    s: Tuples
    programs: tuple[Program, ...]
    before: Program = ()
    extent: Extent = make_extent(span=100, purge="opposite")
    threads: int = 2
    own: Mapping[str, int] = MappingProxyType({})
    filled: int = 0
    last_slot: bool = False
    to_the_end: bool = False
    deep: bool = False
    schedules: float = math.inf
    graph: bool = True
    own_condition: bool = False


def deliver(stream: int, times: int = 1) -> Program:
    """Return calls that deliver the next tuples of a stream; after the last, close it."""
    return (Call(DELIVER, (stream,)),) * times


def drive(times: int = 1) -> Program:
    """Return calls of the driver."""
    return (Call(DRIVE),) * times


def step(thread: int, times: int = 1) -> Program:
    """Return steps of a processing thread."""
    return (Call(STEP, (thread,)),) * times


def take(times: int = 1) -> Program:
    """Return calls of the thread that takes pairs."""
    return (Call(TAKE),) * times


class _Parts(NamedTuple):
    """A `State` whose tuple of threads has fields, in which the checker finds shared arrays."""

    shared: Any
    threads: Any
    output: Any
    driver: Any


class _Bench(NamedTuple):
    """A join and the records of the threads."""

    join: _Parts
    place: np.ndarray  # a line a stream: the number of delivered tuples
    log: np.ndarray  # the number of pairs; key and record of each
    out: np.ndarray
    lock: np.ndarray  # for calls that one thread at a time may make


@inlined
def _note_rows(tables, timestamp, r_row, s_row, out, place):
    """Write an output that identifies timestamp and rows."""
    out[place] = timestamp << 16 | r_row << 8 | s_row


@inlined
def _within_band(r_0, r_1, s_0, s_1):
    """Whether two numbers differ by one at most each: the band of the programs."""
    return abs(r_0 - s_0) <= HALF_WIDTH and abs(r_1 - s_1) <= HALF_WIDTH


@cache
def noting(columns: int = 1, own_condition: bool = False) -> Predicate:
    """Return the band over some numbers, or the condition, with outputs that identify the pair."""
    predicate = condition(_within_band, columns) if own_condition else bands(columns)
    return predicate._replace(record=1, combine=_note_rows)


def _predicate_of(program: ThetaProgram) -> Predicate:
    return noting(_columns_of(program), program.own_condition)


def scenario_of(variant: Variant, program: ThetaProgram) -> Scenario:
    """Return the scenario of a program; the thread that takes pairs holds a lock if it joins."""
    operations, predicate = variant.operations, _predicate_of(program)
    streams = [[(time, row) for row, (time, *_) in enumerate(side)] for side in program[1:3]]
    arrivals = reference.merged(streams, 1)
    call_step = operations.make_step(predicate)
    get_output = operations.make_get_output(predicate)
    # If one thread at a time may take pairs, two takers show that it blocks.
    locked = variant.progress == "blocking"

    def make() -> _Bench:
        state = made(variant, program)
        state = _without_vectors(state)
        several = NamedTuple("Threads", [(f"thread_{n}", Any) for n in range(len(state.threads))])
        threads = several(*state.threads) if state.threads else ()
        bench = _Bench(
            _Parts(state.shared, threads, state.output, state.driver),
            aligned_words(2 * LINE_WORDS),
            np.zeros(1 + 2 * LOG, np.int64),
            aligned_words(LINE_WORDS),
            make_spin_locks(1),
        )
        _fill(variant, program, bench, arrivals[: program.filled])
        invariants(bench)
        for call in program.before:
            perform(bench, call)
        return bench

    def perform(bench: _Bench, call: Call) -> int:
        join = bench.join
        if call.name == DELIVER:
            return _deliver(operations, streams, bench, *call.arguments)
        if call.name == DRIVE:
            return int(operations.drive(join.shared, join.driver))
        if call.name == STEP:
            return int(call_step(join.shared, join.threads[call.arguments[0]]))
        if locked:
            acquire(bench.lock, 0)
        status = int(get_output(join.shared, join.output, bench.out))
        if status == READY:
            count = bench.log[0]
            bench.log[1 + 2 * count], bench.log[2 + 2 * count] = bench.out[0], bench.out[1]
            bench.log[0] = count + 1
        if locked:
            release(bench.lock, 0)
        return status

    def finish(bench: _Bench, history: Sequence[HistoryOperation]) -> None:
        for each in history:
            _check_answer(each, each.answer)
        ended = {(o.name, *o.arguments) for o in history if o.answer == END}
        _go_on_to_the_end(program, bench, perform, ended)
        _judge(variant, program, arrivals, bench)

    def invariants(bench: _Bench) -> None:
        join = bench.join
        operations.check_invariants(State(join.shared, tuple(join.threads), *join[2:]))

    return Scenario(
        program.name,
        make,
        program.programs,
        perform,
        finish=finish,
        invariants=invariants,
        # A step of a thread is a call, and pairs are in flight between two of them.
        rests=False,
        retry=frozenset({ACCEPTED, FULL, READY, NOT_READY}) if program.to_the_end else frozenset(),
        declines=frozenset({NOT_READY}),
        deep=program.deep,
        schedules=program.schedules,
        graph=program.graph,
    )


def made(variant: Variant, program: ThetaProgram) -> State:
    """Return the join of a program, with those of the program's parameters that it has."""
    columns = _columns_of(program)
    numbers = [[n for _, *row in side for n in row] or [0] * columns for side in program[1:3]]
    tables = number_tables(*numbers, (HALF_WIDTH,) * columns)
    for each in tables:
        # Read-only arrays, which the machine does not check.
        each.setflags(write=False)
    # Also constants that are no setting of the bench.
    known = signature(variant.operations.make_state).parameters
    own = {name: value for name, value in program.own.items() if name in known}
    shape = Shape(1, 1, program.threads, WINDOW)
    return variant.operations.make_state(
        _predicate_of(program), tables, program.extent, shape, **own
    )


def _columns_of(program: ThetaProgram) -> int:
    return len((program.r or program.s)[0]) - 1


def _without_vectors(state: Any) -> Any:
    """Return a state whose trees compare keys one by one: the machine has no vectors."""
    if not isinstance(state, tuple):
        return state
    if not hasattr(state, "_fields"):
        return tuple(map(_without_vectors, state))
    fields = {name: _without_vectors(value) for name, value in state._asdict().items()}
    return state._replace(**fields | ({"vector": ()} if "vector" in fields else {}))


def _windows_in(state: Any) -> list[Window]:
    """Return all windows of a thread, however deep they lie."""
    if isinstance(state, Window):
        return [state]
    parts = state if isinstance(state, tuple) else ()
    return [window for each in parts for window in _windows_in(each)]


def _go_to_the_last_slot(variant: Variant, join: _Parts) -> None:
    """Leave windows as if as many tuples had come and gone as fill all slots but one."""
    for number, own in enumerate(join.threads or (join.output,)):
        for window in _windows_in(own):
            window.words[FIRST] = window.words[NEXT] = window.capacity - 1
            # Of tuples that it was this thread's turn to keep.
            window.ranks[:] = number
        if variant.id == "handshake":
            own.words[SENT] = own.s.words[NEXT]


def _fill(
    variant: Variant,
    program: ThetaProgram,
    bench: _Bench,
    arrivals: Sequence[reference.Arrival],
) -> None:
    join, operations = bench.join, variant.operations
    fill = operations.make_fill(_predicate_of(program))
    if program.last_slot:
        _go_to_the_last_slot(variant, join)
    filled = [sum(each.side == side for each in arrivals) for side in (R, S)]
    for own in join.threads or (join.output,):
        newer = list(filled)
        for each in arrivals:
            newer[each.side] -= 1
            words = each.side, each.timestamp, each.row, newer[each.side], filled[each.side]
            assert fill(join.shared, own, *words) == ACCEPTED, "no room to fill a window"
    for each in arrivals:
        bench.place[each.side * LINE_WORDS] += 1
        if operations.drive_past:
            operations.drive_past(join.driver, each.side, each.timestamp)


def _deliver(operations: Any, streams: Sequence, bench: _Bench, stream: int) -> int:
    place = bench.place[stream * LINE_WORDS]
    if place > len(streams[stream]):
        return END
    if place == len(streams[stream]):
        status = operations.close_source(bench.join.shared, stream)
    else:
        timestamp, row = streams[stream][place]
        status = operations.insert_tuple(bench.join.shared, stream, timestamp, 0, row)
    if status == ACCEPTED:
        bench.place[stream * LINE_WORDS] = place + 1
    return int(status)


def _go_on_to_the_end(program: ThetaProgram, bench: _Bench, perform: Any, ended: set) -> None:
    """Let each part go on, in turn, until the taker of pairs answers END."""
    parts = [(DELIVER, R), (DELIVER, S)]
    parts += [(DRIVE,)] * (bench.join.driver is not None)
    parts += [(STEP, number) for number in range(len(bench.join.threads))]
    parts.append((TAKE,))
    for _ in range(NO_END):
        for part in parts:
            if part not in ended:
                status = perform(bench, Call(part[0], part[1:]))
                _check_answer(part, status)
                ended |= {part} if status == END else set()
        if (TAKE,) in ended:
            return
    raise AssertionError(f"no end is in sight; ended have {sorted(ended)}")


def _check_answer(part: Any, status: int) -> None:
    assert status in (END, NOT_READY, READY), f"{part[:2]} answers {status}"


def _judge(
    variant: Variant, program: ThetaProgram, arrivals: Sequence[reference.Arrival], bench: _Bench
) -> None:
    numbers = [[np.array(row) for _, *row in side] for side in program[1:3]]
    wanted = [
        pair
        for pair in reference.join(
            arrivals,
            program.extent,
            lambda r, s: (abs(numbers[R][r] - numbers[S][s]) <= HALF_WIDTH).all(),
        )
        if pair[0] >= program.filled
    ]
    count = int(bench.log[0])
    keys, records = ([int(bench.log[first + 2 * n]) for n in range(count)] for first in (1, 2))
    got = [(rank_of(key), partner_of(key)) for key in keys]
    found = got if variant.operations.ordered else sorted(got)
    assert found == wanted, f"pairs are {got}, and should be {wanted}"
    for (later, earlier), record in zip(got, records, strict=True):
        rows = [each.row for each in sorted((arrivals[later], arrivals[earlier]), key=_side)]
        right = arrivals[later].timestamp << 16 | rows[R] << 8 | rows[S]
        assert record == right, f"pair {later} and {earlier} is put out as {record}, not {right}"


def _side(arrival: reference.Arrival) -> int:
    return arrival.side
