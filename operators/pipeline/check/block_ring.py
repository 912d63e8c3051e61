"""Small programs for the ring of blocks: whole pipelines in blocks of one and two records.

Workers take turns of the runtime itself (`operators.pipeline.blocks.turns`) on a pipeline of all
kinds of segments; some programs begin when one worker has taken a few turns, or all but the last.
Their work on records is plain: a block, a part or an operator's state in the hands of two workers
is a data race. At the end one worker goes on alone, and the outputs must be those of the reference
run, in order.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np

from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario, until
from operators.contract import END, NOT_READY, READY, Variant
from operators.core.jit import inlined
from operators.core.layout import aligned_words
from operators.pipeline.block_ring import (
    NONE,
    BlockRing,
    begin_opening,
    check_invariants,
    end_opening,
    opened,
    scatter,
    show,
)
from operators.pipeline.blocks.layout import SCATTERED, segments_of
from operators.pipeline.blocks.scheduled import visits_at
from operators.pipeline.blocks.sending import Schedule
from operators.pipeline.blocks.state import (
    BY_THE_WALK,
    OUT_WORDS,
    BlocksState,
    make_blocks_state,
)
from operators.pipeline.blocks.turns import make_work_in_blocks
from operators.pipeline.check import block_dimensions, ring_alone
from operators.pipeline.check.block_dimensions import BlockProgram, turns
from operators.pipeline.check.judged import NEVER, SOON_NS, check_passed, check_times, sink_of
from operators.pipeline.declare import PARTITIONED, STATEFUL, STATELESS, Operator, Pipeline
from operators.pipeline.reference import run_serially
from operators.pipeline.state import COUNT, MARKERS
from operators.running.control import block as control_words_of
from operators.running.control import make_control

ALONE = ring_alone.ALONE
WORKERS = 3
MOST_OUTPUTS = 16
# Of the schedulers of a scenario.
BY_THE_FIRST = Schedule(0, slice_ns=1_000, window_ns=100_000)
# The answer of a turn that was told the end, and does not find all outputs.
TOO_EARLY = -99
# Each turn is repeated until the end.
AT_END = {"retry": frozenset({READY, NOT_READY}), "goes_on": frozenset({READY})}
# Times are among the words: no graph of all states would come to an end.
TIMED = {"timed": True, "graph": False, "schedules": 20}
# Of an exploration: a turn through a whole pipeline has some fifty steps.
SCHEDULES = 300


@inlined
def repeated(record, state, out):
    """Put out a record as often as its number modulo 3 says."""
    for each in range(record[0] % 3):
        out[each] = record[0] + each
    return record[0] % 3


@inlined
def parity(record):
    """Return whether a record is odd."""
    return record[0] & 1


@inlined
def counted(record, state, out):
    """Put out how many records of the key there were, and the record."""
    state[0] += 1
    out[0] = 100 * state[0] + record[0]
    return 1


@inlined
def counted_if_odd(record, state, out):
    """Count, and put out twice as many records as the record modulo 2 says."""
    state[0] += 1
    for each in range(2 * (record[0] & 1)):
        out[each] = 100 * state[0] + 10 * record[0] + each
    return 2 * (record[0] & 1)


@inlined
def key_of_bit(record):
    """Return whether a record has its second bit."""
    return (record[0] >> 1) & 1


@inlined
def count_of(key, state, out):
    """Put out the number of records of a key, if there were any."""
    out[0] = -100 * key - state[0]
    return 1 if state[0] > 0 else 0


@inlined
def passed_on(record, state, out):
    """Put out the record."""
    out[0] = record[0]
    return 1


@inlined
def raised(record, state, out):
    """Put out the record and one."""
    out[0] = record[0] + 1
    return 1


@inlined
def raised_in_columns(records, state, out):
    """Put out each record and one."""
    for each in range(records.shape[1]):
        out[0, each] = records[0, each] + 1
    return records.shape[1]


@inlined
def counted_in_columns(records, state, out):
    """Put out for each record how many there were, and the record."""
    for each in range(records.shape[1]):
        state[0] += 1
        out[0, each] = 100 * state[0] + records[0, each]
    return records.shape[1]


_FREE = Operator("repeat", STATELESS, repeated, outputs=1, most=2)
_BY_KEY = Operator(
    "count", PARTITIONED, counted, outputs=1, key=parity, keys=2, row_words=1, flush=count_of
)
_SOME_BY_KEY = Operator(
    "some", PARTITIONED, counted_if_odd, outputs=1, most=2, key=key_of_bit, keys=2, row_words=1
)
_IN_ORDER = Operator("number", STATEFUL, counted, outputs=1, row_words=1, flush=count_of)
_LAST = Operator("pass on", STATELESS, passed_on, outputs=1)

_COLUMNS = (
    Operator("raise", STATELESS, raised, outputs=1, process_columns=raised_in_columns),
    Operator(
        "count", STATEFUL, counted, outputs=1, row_words=1, process_columns=counted_in_columns
    ),
)

ORDERED = Pipeline("ordered", 1, (_FREE, _IN_ORDER))
IN_PARTS = Pipeline("in parts", 1, (_BY_KEY, _LAST))
# Outputs of some records: those behind move to the front.
SOME_IN_PARTS = Pipeline("some in parts", 1, (_SOME_BY_KEY, _LAST))
LONG = Pipeline("long", 1, (_FREE, _BY_KEY, _LAST, _IN_ORDER))
COLUMNS = Pipeline("columns", 1, _COLUMNS)
PIPELINES = {
    "ordered": ORDERED,
    "parts": IN_PARTS,
    "some": SOME_IN_PARTS,
    "long": LONG,
    "columns": COLUMNS,
}


class _Bench(NamedTuple):
    """A run, the words by which threads are controlled, and the words of each worker."""

    state: BlocksState
    control: np.ndarray
    out: np.ndarray


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of the ring."""
    one, two = (turns(0, 2), turns(1, 2)), (turns(0, 3), turns(1, 3))
    single = (turns(0, 1), turns(1, 1))

    on = _scenario
    return [
        on("blocks-of-one", ORDERED, (1, 2), one, block=1),
        on("blocks-of-two", ORDERED, (1, 2, 4), one, block=2),
        # In the middle: some programs get a graph of all states, and the others are too large.
        _opening(variant),
        *ring_alone.alone(variant),
        # Markers are timed, and the source has a pace: a block has one marker, two or none.
        on("marked", LONG, (2, 5, 1), one, block=2, marker_every=1, **TIMED),
        on("marked-by-two", ORDERED, (2, 5, 1), one, block=1, marker_every=2, **TIMED),
        on("one-slot", ORDERED, (1, 2), two, block=1, in_flight=1),
        on("parts", IN_PARTS, (1, 2), one, block=1, parts=2),
        on("parts-of-two", IN_PARTS, (1, 2, 3), one, block=2, parts=2),
        on("parts-with-some", SOME_IN_PARTS, (2, 1, 3), one, block=3, parts=2),
        # The records come again: a block begins at the last one and goes on at the first.
        on("columns", COLUMNS, (1, 2), one, block=3, total=5),
        on("records-again", ORDERED, (1, 2), one, block=3, total=5),
        on("no-room", ORDERED, (2, 5), one, block=2, room_words=1),
        on("no-room-in-order", LONG, (2, 5, 2), one, block=2, room_words=1),
        on("no-room-in-parts", LONG, (2, 5), one, block=2, room_words=1, parts=2),
        on("from-both-ends", LONG, (2, 1), two, block=1, ends=True),
        on("to-the-end", ORDERED, (1,), single, block=1, **AT_END),
        on("three-workers", LONG, (2, 4), (*one, turns(2, 2)), block=1, parts=2, deep=True),
        on("long-to-the-end", LONG, (2, 5), single, block=1, parts=2, deep=True, **AT_END),
        *map(_derived, block_dimensions.derived_programs()),
    ]


def uncovered(variant: Variant) -> list[str]:
    """Return the pairs of values that no derived program of the ring has, with the reasons."""
    return block_dimensions.uncovered()


def _derived(program: BlockProgram) -> Scenario:
    """Return the scenario of a program of the dimensions."""
    return _scenario(
        program.name,
        PIPELINES[program.pipeline],
        program.numbers,
        program.threads,
        parts=program.parts,
        block=program.block,
        in_flight=program.in_flight,
        room_words=program.room_words,
        ranged=program.ranged,
        ends=program.ends,
        taken=program.taken,
        schedules=block_dimensions.SCHEDULES,
        # A whole graph would have many times the states that a check has time for.
        graph=False,
        **(AT_END if program.to_the_end else {}),
    )


def scheduled_blocks(variant: Variant) -> list[Scenario]:
    """Return the scenarios of a scheduler that sends workers to blocks."""
    two, chosen = (turns(0, 3), turns(1, 3)), (variant.operations.choose,)
    return [
        _scenario("blocks-sent-to", ORDERED, (1, 2), two, block=1, schedulers=chosen),
        _scenario("parts-sent-to", IN_PARTS, (1, 2), two, block=1, parts=2, schedulers=chosen),
        _counted_visits(),
    ]


def _counted_visits() -> Scenario:
    """Return a scenario of one worker that has divided a block and asks what waits at the segment.

    Parts that others have left are rare, and without their visits nobody would be sent to them.
    """

    def perform(bench: _Bench, call: Call) -> tuple[int, ...]:
        ring = bench.state.ring
        number = begin_opening(ring)
        show(ring, number, 0, 1)
        end_opening(ring)
        scatter(ring, number, 0)
        return READY, *visits_at(bench.state, 0, SCATTERED, 0)

    def finish(bench: _Bench, history: Sequence[HistoryOperation]) -> None:
        # Two parts; and a block that can be opened, with a visit that divides it and two parts.
        (found,) = (each.answer for each in history)
        assert found == (READY, 5, 2), f"five visits wait, and two workers may go: said was {found}"

    numbers = np.array([[1], [2]], dtype=np.int64)
    return Scenario(
        name="visits",
        make=lambda: _beginning(
            IN_PARTS, numbers, 2, timed=False, block=1, in_flight=2, parts=2, scattered=(0,),
            marker_every=NEVER, schedule=BY_THE_FIRST,
        ),
        programs=((Call("ask"),),),
        perform=perform,
        finish=finish,
    )  # fmt: skip


def _opening(variant: Variant) -> Scenario:
    """Return a scenario of two workers that open a block each, of which one may have to wait."""

    def perform(ring: BlockRing, call: Call) -> int:
        number = begin_opening(ring)
        if number == NONE:
            return NOT_READY
        show(ring, number, 0, 0)
        end_opening(ring)
        return READY

    def finish(ring: BlockRing, history: Sequence[HistoryOperation]) -> None:
        assert opened(ring) == 2, f"{opened(ring)} blocks were opened, by two workers"

    return Scenario(
        name="opening",
        make=lambda: variant.operations.make_state(2, 1),
        programs=((Call("open"),), (Call("open"),)),
        perform=perform,
        finish=finish,
        invariants=variant.operations.check_invariants,
        retry=frozenset({NOT_READY}),
    )


def _scenario(
    name: str,
    pipeline: Pipeline,
    numbers: Sequence[int],
    programs: Sequence[tuple[Call, ...]],
    *,
    parts: int = 1,
    block: int,
    in_flight: int = 2,
    room_words: int = 8,
    ranged: bool = False,
    ends: bool = False,
    schedulers: Sequence[Callable[..., int]] = (),
    taken: int = 0,
    total: int = 0,
    marker_every: int = 0,
    timed: bool = False,
    schedules: float = SCHEDULES,
    **more: Any,
) -> Scenario:
    """Return workers on a pipeline, from the start or after turns that one has `taken`.

    Below 0, `taken` is the number of turns that are left to one worker. Of `total` records those
    behind the last are the first ones again; all are as many as they are where it is 0. Where
    `marker_every` is 0, no marker is sent.
    """
    records = np.array(numbers, dtype=np.int64).reshape(-1, 1)
    total = total or len(records)
    scattered = _scattered(pipeline, parts)
    work = make_work_in_blocks(pipeline, segments_of(pipeline, scattered), schedulers)
    wanted = [word for (word,) in run_serially(pipeline, np.resize(records, (total, 1)))]

    from_the_start = partial(
        _beginning, pipeline, records, total, timed=timed, block=block, in_flight=in_flight,
        parts=parts, scattered=scattered, ranged=ranged, ends=ends,
        schedule=BY_THE_FIRST if schedulers else BY_THE_WALK, room_words=room_words,
        marker_every=marker_every or total + 1,
    )  # fmt: skip

    def make() -> _Bench:
        bench = from_the_start()
        count = taken
        if taken < 0:
            count = max(_turns_to_the_end(from_the_start(), turn) + taken, 0)
        for _ in range(count):
            turn(bench, 0)
        # Times: a program begins with the same words each time.
        bench.state.statistics[:] = 0
        return bench

    def turn(bench: _Bench, worker: int) -> int:
        own = bench.out[worker * OUT_WORDS : (worker + 1) * OUT_WORDS]
        return work(bench.control, control_words_of(worker), bench.state, worker, own)

    def perform(bench: _Bench, call: Call) -> int:
        status = turn(bench, *call.arguments)
        return TOO_EARLY if status == END and _kept(bench, len(wanted)) != wanted else status

    def finish(bench: _Bench, history: Sequence[HistoryOperation]) -> None:
        early = any(operation.answer == TOO_EARLY for operation in history)
        assert not early, "a worker was told the end before all outputs were there"
        unfinished = timed and all(operation.answer != END for operation in history)
        if unfinished:
            bench = bench._replace(state=_untimed(bench.state))
        # To the board a worker is where it was sent until its next turn, so all of them go on.
        workers = cycle(range(WORKERS if schedulers else 1))
        for status in until(END, lambda: turn(bench, next(workers))):
            assert status in (READY, NOT_READY), f"a turn answered {status}"
        _check_outputs(bench, wanted)
        if not unfinished:
            check_times(bench.state.sink, timed)
        if not taken:
            check_passed(bench.state)

    return Scenario(
        name=name,
        make=make,
        programs=tuple(programs),
        perform=perform,
        finish=finish,
        invariants=lambda bench: check_invariants(bench.state.ring),
        schedules=schedules,
        **more,
    )


def _untimed(state: BlocksState) -> BlocksState:
    """Return a state that times no more markers: the machine, whose clock counts steps, is over."""
    return state._replace(sink=state.sink._replace(first=NEVER))


def _check_outputs(bench: _Bench, wanted: list[int]) -> None:
    words, total = bench.state.sink.words, bench.state.total
    found = _kept(bench, words[COUNT])
    assert found == wanted, f"put out were {found}, and a serial run puts out {wanted}"
    markers = words[MARKERS]
    assert markers == total // bench.state.marker_every, f"{markers} markers came of {total}"


def _scattered(pipeline: Pipeline, parts: int) -> tuple[int, ...]:
    """Return the operators whose records are scattered over parts."""
    kinds = (each.kind for each in pipeline.operators)
    return tuple(n for n, kind in enumerate(kinds) if kind == PARTITIONED and parts > 1)


def _kept(bench: _Bench, count: int) -> list[int]:
    """Return the first outputs that the sink has kept."""
    return [bench.state.sink.kept[place] for place in range(count)]


def _beginning(
    pipeline: Pipeline, records: np.ndarray, total: int, *, timed: bool, **settings: Any
) -> _Bench:
    """Return a run of which no turn has been taken."""
    state = make_blocks_state(
        pipeline,
        records,
        total,
        workers=WORKERS,
        kept_words=MOST_OUTPUTS,
        period_ns=SOON_NS if timed else 0.0,
        **settings,
    )
    return _Bench(
        _with_names(state, timed), make_control(WORKERS), aligned_words(WORKERS * OUT_WORDS)
    )


def _turns_to_the_end(bench: _Bench, turn: Callable[[_Bench, int], int]) -> int:
    """Let worker 0 take turns until the end, and return how many it took."""
    return sum(1 for _ in until(END, lambda: turn(bench, 0)))


def _with_names(state: BlocksState, timed: bool) -> BlocksState:
    """Return a state in which every array is in a field of its own, and short."""
    return state._replace(
        operators=_named("Operators", state.operators),
        segments=_named("Segments", state.segments),
        sink=sink_of(state.sink, timed),
    )


def _named(name: str, values: Sequence[Any]) -> Any:
    kind: Callable[..., Any] = namedtuple(name, [f"number_{n}" for n in range(len(values))])
    return kind(*values)
