"""Whole pipelines on the machine: a thread is a worker, a call is one of its turns.

Two operators, two or three records and two slots, so that outputs find no room and the end of the
stream comes while a worker is at work. The operators' rows are plain words: two workers that
process tuples of one partition, or are in a stateful operator together, are a data race. The
outputs are compared with those of a serial run.

A worker repeats its turn until all outputs have left. A turn that does nothing gives way until
another thread has written, so turns that leave a parked output or a waiting record where it is come
to no end, and that is a failure. Some programs begin near the end, where one worker has got by
itself, since schedules from the beginning are too long for the rare ones there. Who is told the end
reads the outputs, as one who has only asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np

from operators import registry
from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario, until
from operators.contract import END, NOT_READY, READY, Variant
from operators.core.atomics import RELAXED, load, store
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.pipeline.board import NOBODY, SCHEDULABLE, look
from operators.pipeline.check import dimensions
from operators.pipeline.check.judged import (
    SOON_NS,
    check_costs,
    check_counts,
    check_left,
    check_times,
    choosing,
    sink_of,
)
from operators.pipeline.check.row_functions import (
    KEYS,
    WORDS,
    counted,
    counted_at_the_end,
    doubled,
    emptied,
    key_itself,
    key_of,
    passed,
)
from operators.pipeline.declare import (
    NO_SUCH_KEY,
    PARTITIONED,
    STATEFUL,
    STATELESS,
    Operator,
    Pipeline,
)
from operators.pipeline.runtime import make_work_once
from operators.pipeline.serial import make_run_serially, serial_state_of
from operators.pipeline.stage import HYBRID, IN_PARTITIONS, LOCK_BASED, NON_BLOCKING, SHARED
from operators.pipeline.state import COUNT, MARKERS, PipelineState, Setting, make_state
from operators.running.control import STOP, block, make_control

WORKERS = 2
SLOTS = 2
# Of the turns that one worker would take, half are left.
HALF = -1
# Room for the outputs of every program.
KEPT = 32
# More than there are records.
NEVER = 1_000
# The answer of a worker that finds the run stopped.
STOPPED = -98
# The answer of a turn that was told the end, and does not find all outputs.
TOO_EARLY = -99
# The most schedules of an exploration, and random ones: a run takes some hundred steps.
SCHEDULES = 20
# What runs with every scheduler; the others run with the first, since they differ in what the
# operators do.
WITH_EACH = ("no-room-for-two", "flushed-by-key")


def _stateful(name: str, process: Any, **more: Any) -> Operator:
    return Operator(name, STATEFUL, process, WORDS, most=2, row_words=1, **more)


def _partitioned(name: str, process: Any, **more: Any) -> Operator:
    return Operator(name, PARTITIONED, process, WORDS, most=2, key=key_of, keys=KEYS, row_words=1,
                    **more)  # fmt: skip


FILTER = Operator("filter", STATELESS, passed, WORDS, most=2)
COUNTS = _stateful("count", counted)
COUNTS_AND_FLUSHES = _stateful("count and flush", counted, flush=emptied)
DOUBLES = _stateful("double", doubled)
BY_KEY = _partitioned("count by key", counted)
DOUBLES_BY_KEY = _partitioned("double by key", doubled)
WITH_KEYS = Operator("count by a key", PARTITIONED, counted, WORDS, most=2, key=key_itself,
                     keys=KEYS, row_words=1)  # fmt: skip
FLUSHES_BY_KEY = _partitioned("count by key and flush", counted, flush=emptied)
IN_A_TABLE = Operator("count in a table", PARTITIONED, counted, WORDS, most=2, key=key_itself,
                      keys=KEYS, row_words=1, table_rows=2)  # fmt: skip
IN_ROWS = Operator("count in rows of different lengths", PARTITIONED, counted_at_the_end, WORDS,
                   most=2, key=key_of, keys=KEYS, row_starts=np.array([0, 1, 3]))  # fmt: skip

SAME_KEY = ((0, 2), (0, 4), (2, 6))
BOTH_KEYS = ((0, 2), (1, 4), (1, 6))
WRONG_KEY = ((0, 2), (KEYS, 4))
ONE_DROPPED = ((0, 2), (1, 3), (1, 6))
# Two of one partition that begin to look at the last row of the table, and one of the other: the
# three have no room in the table of one partition.
THREE_KEYS = ((10, 2), (11, 4), (2, 6), (11, 8))


class _Run(NamedTuple):
    """A pipeline, and the words of its workers."""

    state: PipelineState
    control: np.ndarray
    out: tuple[np.ndarray, ...]


def whole_pipelines(variant: Variant) -> list[Scenario]:
    """Return the scenarios of a scheduler over pipelines of two operators of each kind."""

    def pipeline(
        name: str, operators: Sequence[Operator], records: Sequence[tuple[int, int]],
        worklist: int = HYBRID, buffer: int = NON_BLOCKING, **more: Any,
    ) -> Scenario:  # fmt: skip
        declared = Pipeline(name, WORDS, tuple(operators))
        return _scenario(variant, declared, records, Setting(worklist, buffer, 0), **more)

    every = [
        pipeline("stateful-twice", (COUNTS, COUNTS), SAME_KEY[:2]),
        pipeline("stateless-then-partitioned", (FILTER, BY_KEY), BOTH_KEYS),
        pipeline("no-such-key", (COUNTS, WITH_KEYS), WRONG_KEY, failing=NO_SUCH_KEY),
        # The marker of a record that is dropped goes on alone.
        pipeline("marked", (FILTER, BY_KEY), ONE_DROPPED, marker_every=1),
        # Markers are timed, a source has a pace, and a slice has time for no tuple.
        pipeline("timed", (FILTER, BY_KEY), ONE_DROPPED, marker_every=1, timed=True, graph=False),
        pipeline("in-a-table", (FILTER, IN_A_TABLE), THREE_KEYS, graph=False),
        pipeline("in-rows-of-their-own", (FILTER, IN_ROWS), BOTH_KEYS, graph=False),
        pipeline("partitioned-twice", (BY_KEY, BY_KEY), SAME_KEY, IN_PARTITIONS),
        pipeline("no-room-for-two", (DOUBLES, BY_KEY), BOTH_KEYS[:2], SHARED),
        pipeline("no-room-lock-based", (DOUBLES_BY_KEY, COUNTS), SAME_KEY[:2], HYBRID, LOCK_BASED),
        pipeline("flushed-into-a-slot", (COUNTS_AND_FLUSHES, COUNTS), SAME_KEY[:2]),
        pipeline("near-the-end", (COUNTS_AND_FLUSHES, COUNTS), SAME_KEY[:2], left=5),
        # One output of a flush has room at a time: another worker goes on with the flush.
        pipeline("nearer-the-end", (COUNTS_AND_FLUSHES, COUNTS), SAME_KEY[:1], left=5, slots=1),
        pipeline("near-the-end-by-key", (FLUSHES_BY_KEY, BY_KEY), BOTH_KEYS[:2], left=5),
        pipeline("flushed-by-key", (FLUSHES_BY_KEY, FLUSHES_BY_KEY), BOTH_KEYS[:2]),
    ]
    first = registry.variants(variant.family)[0]
    if variant.id != first.id:
        return [scenario for scenario in every if scenario.name in WITH_EACH]
    return [*every, *(_derived(variant, each) for each in dimensions.derived_pipelines())]


def _derived(variant: Variant, program: dimensions.WholePipeline) -> Scenario:
    """Return the scenario of a pipeline of the dimensions."""
    return _scenario(
        variant,
        program.pipeline,
        program.records,
        program.setting,
        left={"new": 0, "half": HALF, "late": 5}[program.begin],
        slots=program.slots,
        workers=program.workers,
        marker_every=1 if program.marked else NEVER,
        schedules=dimensions.SCHEDULES,
        turns=program.turns,
        graph=False,
    )


def _expected(pipeline: Pipeline, records: np.ndarray, setting: Setting) -> list[int]:
    """Return the outputs of a serial run, whose one table has the rows of all partitions."""
    whole = (each._replace(table_rows=each.table_rows * KEYS) for each in pipeline.operators)
    pipeline = pipeline._replace(operators=tuple(whole))
    state = _state(pipeline, records, setting, workers=1)
    status = make_run_serially(pipeline)(serial_state_of(state))
    assert status == 0, f"the serial run failed with {status}"
    markers = int(state.sink.words[MARKERS])
    assert markers == 0, f"a serial run has no markers, and {markers} arrived"
    return state.sink.kept[: int(state.sink.words[COUNT]) * WORDS].tolist()


def _state(
    pipeline: Pipeline,
    records: np.ndarray,
    setting: Setting,
    workers: int,
    slots: int = SLOTS,
    marker_every: int = NEVER,
    timed: bool = False,
) -> PipelineState:
    state = make_state(
        pipeline, records, len(records), workers=workers, slots=slots, partitions=KEYS,
        setting=setting, scheduler=0, slice_ns=1 if timed else 1_000, window_ns=100_000,
        capacity=1, source_most=len(records), marker_every=marker_every,
        period_ns=SOON_NS if timed else 0.0, kept_words=KEPT * WORDS,
    )  # fmt: skip
    return state._replace(sink=sink_of(state.sink, timed))


@inlined
def _latest(board):
    """Return the last operator where a worker may go: a choice that depends on no time."""
    chosen = NOBODY
    for place in range(board.operators):
        if look(board, place, SCHEDULABLE) != 0:
            chosen = place
    return chosen


def _let_one_work(pipeline: Pipeline, state: PipelineState, turns: float) -> int:
    """Let worker 0 take turns until the end, or some; return how many it took.

    What it noted about times is forgotten: a program begins with the same words each time.
    """
    ask = make_work_once(pipeline, [_latest])
    control, out = make_control(WORKERS), aligned_words(LINE_WORDS)
    noted = (state.board.words, state.board.window, state.workers)
    before = [words.copy() for words in noted]
    taken, status = 0, READY
    while status != END and taken < turns:
        status = ask(control, block(0), state, 0, out)
        assert status in (READY, NOT_READY, END), f"a turn failed with {status}"
        taken += 1
    for words, first in zip(noted, before, strict=True):
        words[:] = first
    return taken


def _check_outputs(state: PipelineState, expected: list[int]) -> None:
    sink = state.sink
    got = sink.kept[: int(sink.words[COUNT]) * WORDS].tolist()
    assert got == expected, f"the outputs were {got}, those of a serial run are {expected}"
    markers, wanted = int(sink.words[MARKERS]), state.total // state.marker_every
    assert markers == wanted, f"{markers} markers came, of {wanted}"


def _scenario(
    variant: Variant,
    pipeline: Pipeline,
    records: Sequence[tuple[int, int]],
    setting: Setting,
    left: int = 0,
    slots: int = SLOTS,
    workers: int = WORKERS,
    marker_every: int = NEVER,
    timed: bool = False,
    failing: int = 0,
    schedules: float = SCHEDULES,
    turns: int = 0,
    **more: Any,
) -> Scenario:
    """Return workers on a pipeline, from the start or so many turns of one from the end.

    With `turns`, each takes so many, and then they go on one after the other.

    With `failing`, a turn must fail with this number, and the other worker is then stopped.
    """
    source = np.array(records, dtype=np.int64)
    expected = [] if failing else _expected(pipeline, source, setting)
    choose = variant.operations.choose
    if timed:
        choose = choosing(choose)
    work_once = make_work_once(pipeline, [choose])

    def make() -> _Run:
        outs = tuple(aligned_words(LINE_WORDS) for _ in range(workers))
        shape = pipeline, source, setting, workers, slots, marker_every, timed
        state = _state(*shape)
        if left:
            other = _state(*shape)
            count = _let_one_work(pipeline, other, math.inf)
            _let_one_work(pipeline, state, count // 2 if left == HALF else count - left)
        return _Run(state, make_control(workers), outs)

    def perform(run: _Run, call: Call) -> int:
        (worker,) = call.arguments
        if failing and load(run.control, STOP, RELAXED) != 0:
            return STOPPED
        status = work_once(run.control, block(worker), run.state, worker, run.out[worker])
        if failing and status == failing:
            store(run.control, STOP, 1, RELAXED)
        if status == END:
            kept = run.state.sink.kept
            return END if [kept[n] for n in range(len(expected))] == expected else TOO_EARLY
        return status

    def finish(run: _Run, history: Sequence[HistoryOperation]) -> None:
        if failing:
            told = {o.answer for o in history} - {READY, NOT_READY}
            assert failing in told <= {failing, STOPPED}, f"workers answered {sorted(told)}"
            return
        if turns:
            # To the board a worker is where it was sent until its next turn, so all of them go on.
            each = cycle(Call("turn", (worker,)) for worker in range(workers))
            for status in until(END, lambda: perform(run, next(each))):
                assert status in (READY, NOT_READY), f"a turn answered {status}"
        _check_outputs(run.state, expected)
        check_left(run.state)
        if not left:
            check_counts(pipeline, run.state)
        check_times(run.state.sink, timed)
        if timed:
            check_costs(run.state)
        answers = {o.answer for o in history}
        assert answers <= {READY, NOT_READY, END}, f"a turn failed: {sorted(answers)}"

    return Scenario(
        name=pipeline.name,
        make=make,
        programs=tuple((Call("turn", (worker,)),) * max(turns, 1) for worker in range(workers)),
        perform=perform,
        finish=finish,
        retry=frozenset() if turns else frozenset({READY, NOT_READY}),
        goes_on=frozenset({READY}),
        schedules=schedules,
        **more,
    )
