"""Small programs for every aggregate, derived from the aggregate's declaration alone.

The programs of a variant depend on the thread whose steps are its tuples (``counts_tuples``): where
the inputs meet in a gate and one thread does the rest there is little to check besides the gate;
where inputs or update threads share windows there is more.

In the end, when all streams are closed and ``process`` has reached END, all rows are compared with
`rows_of`; where a variant `answers_as_w_hive`, `WHiveSpecification` judges each history too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from operators.aggregation.check import dimensions
from operators.aggregation.check.programs import (
    INPUTS,
    OF_INPUT,
    OF_OUTPUT,
    TEXTS,
    AggregationProgram,
)
from operators.aggregation.check.update_programs import OF_UPDATE
from operators.aggregation.family import AggregationOperations
from operators.aggregation.functions import NAMES, TEXT
from operators.aggregation.plan import AggregationPlan, Text
from operators.aggregation.reference import rows_of
from operators.aggregation.sink import (
    DIGEST,
    ROW_WORDS,
    ROWS,
    Sink,
    fold_rows,
    outputs,
    take_rows,
    winset_log,
)
from operators.aggregation.specification import WHiveSpecification
from operators.aggregation.w_hive import WHiveState
from operators.aggregation.w_hive import check_invariants as check_hive
from operators.aggregation.winsets import WindowState
from operators.aggregation.winsets import check_invariants as check_winsets
from operators.check.history import HistoryOperation
from operators.check.scenario import ITSELF, WAITS, Call, Scenario, nearest
from operators.contract import (
    ACCEPTED,
    END,
    ROWS_FULL,
    Variant,
)

# A tuple goes in, and rows come out, in the call.
ALONE = dict.fromkeys(("add", "close", "update", "process"), ITSELF)
# By the thread whose steps are the tuples.
PROGRAMS = {"output": OF_OUTPUT, "input": OF_INPUT, "update": OF_UPDATE}
# The value of parameters that no program names: small, so that races meet.
SMALL = 2
# More rounds of closing, updating and processing than any program leaves work for.
LAST_ROUNDS = 200


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of an aggregate: those for the threads whose steps are its tuples.

    Parameters
    ----------
    variant : Variant
        Of the family "aggregation".
    """
    return [
        _scenario(variant, program)
        for program in (
            *PROGRAMS[variant.operations.counts_tuples],
            *dimensions.derived_programs(variant),
            *dimensions.programs_of_texts(variant),
        )
        if program.function in variant.operations.functions
        and program.needs in ("", *(parameter.name for parameter in variant.parameters))
    ]


def uncovered(variant: Variant) -> list[str]:
    """Return what no derived program of an aggregate has, with the reasons."""
    return dimensions.uncovered(variant)


def settings(variant: Variant, program: AggregationProgram) -> dict[str, int | str]:
    """Return the parameters with which an aggregate is made for a program, within their limits."""
    named = ("ahead", "levels", "winsets_ahead", "panes_ahead", "update_threads")
    wanted = {name: getattr(program, name) for name in named}
    return {p.name: nearest(p, wanted.get(p.name, SMALL)) for p in variant.parameters}


def _scenario(variant: Variant, program: AggregationProgram) -> Scenario:
    operations = variant.operations
    perform = performing(operations)
    plan, given = program.plan(), settings(variant, program)
    # The specification has numbers alone.
    answers_as_w_hive = operations.answers_as_w_hive and program.function not in TEXT
    answers: list[Any] = []

    def make() -> Any:
        state = operations.make_state(plan, inputs=INPUTS, text=_texts(plan), **given)
        answers[:] = [perform(state, call) for call in program.before]
        for call, answer in zip(program.before, answers, strict=True):
            if call.name in ("add", "close") and answer != ACCEPTED:
                raise ValueError(f"{variant.id} answers {call} with {answer}: {program.name}")
        return state

    def specification() -> WHiveSpecification:
        hive = WHiveSpecification(plan, INPUTS, given["winsets_ahead"])
        for call, answer in zip(program.before, answers, strict=True):
            if not hive.accepts(0, *call, answer):
                raise ValueError(f"{variant.id} answers {call} with {answer}: {program.name}")
        return hive

    def finish(state: Any, history: Sequence[HistoryOperation]) -> None:
        done = [(call.name, call.arguments) for call in program.before]
        done += [(operation.name, operation.arguments) for operation in history]
        told = [*answers, *(operation.answer for operation in history)]
        threads = given["update_threads"] if operations.update else 0
        drain_and_compare(state, operations, plan, threads, list(zip(done, told, strict=True)))

    return Scenario(
        name=program.name,
        make=make,
        programs=program.threads,
        perform=perform,
        specification=specification if answers_as_w_hive else None,
        finish=finish,
        invariants=check_windows,
        retry=WAITS if program.retry else frozenset(),
        declines=WAITS,
        deep=program.deep,
        graph=program.graph,
        schedules=program.schedules,
    )


def _texts(plan: AggregationPlan) -> Text | None:
    """Return the texts that tuples refer to, if the function reads any."""
    if NAMES[plan.function] not in TEXT:
        return None
    ends = np.cumsum([0, *map(len, TEXTS)], dtype=np.int64)
    return Text(ends, np.frombuffer(b"".join(TEXTS), dtype=np.uint8))


def check_windows(state: Any) -> None:
    """Assert the invariants of an aggregate's quiescent W-Hive or winsets, if it has one."""
    for part in state:
        if isinstance(part, WHiveState):
            check_hive(part)
        elif isinstance(part, WindowState):
            check_winsets(part)


def performing(operations: AggregationOperations) -> Callable[[Any, Call], Any]:
    """Return ``perform`` for the operations of an aggregate.

    A call of the output thread answers the status, followed by the words of all rows that the call
    has output.
    """
    process = operations.process
    named = {"add": operations.add, "close": operations.close, "update": operations.update}

    def perform(state: Any, call: Call) -> Any:
        if call.name != "process":
            return int(named[call.name](state, *call.arguments))
        sink = state.windows.sink
        first = int(sink.counters[ROWS])
        status = int(process(state))
        places = range(first * ROW_WORDS, int(sink.counters[ROWS]) * ROW_WORDS)
        return status, *(int(sink.rows[place]) for place in places)

    return perform


def drain_and_compare(
    state: Any,
    operations: AggregationOperations,
    plan: AggregationPlan,
    update_threads: int,
    done: list[tuple[tuple[str, tuple], Any]],
) -> None:
    """Close the open streams, run every thread to the end, and compare all rows.

    Parameters
    ----------
    state : state of an aggregate
    operations : AggregationOperations
    plan : AggregationPlan
    update_threads : int
    done : list of ((name, arguments), answer)
        The calls so far, in the order of each thread.

    Raises
    ------
    AssertionError
        When there is no end, or rows are not those of the reference.
    """
    streams: list[list[tuple[int, ...]]] = [[] for _ in range(INPUTS)]
    open_streams = set(range(INPUTS))
    for (name, arguments), answer in done:
        if name == "add" and answer == ACCEPTED:
            streams[arguments[0]].append(arguments)
        elif name == "close" and answer == ACCEPTED:
            open_streams.discard(arguments[0])
    blocks = []
    for _ in range(LAST_ROUNDS):
        for stream in sorted(open_streams):
            if operations.close(state, stream) == ACCEPTED:
                open_streams.discard(stream)
        for thread in range(update_threads):
            operations.update(state, thread)
        status = operations.process(state)
        if status == ROWS_FULL:
            blocks.append(take_rows(state.windows.sink))
        if status == END and not open_streams:
            break
    else:
        raise AssertionError(f"no END in {LAST_ROUNDS} rounds; open streams: {open_streams}")
    in_order = sorted(
        (timestamp, stream, place, key, value)
        for stream, tuples in enumerate(streams)
        for place, (_, timestamp, key, value) in enumerate(tuples)
    )
    tuples = [(timestamp, key, value) for timestamp, _, _, key, value in in_order]
    wanted = rows_of(plan, tuples, TEXTS)
    sink = state.windows.sink
    if plan.rows_capacity > 0:
        rows = np.concatenate([*blocks, take_rows(sink)]).tolist()
        assert rows == [list(row) for row in wanted], f"put out {rows}, and should be {wanted}"
    assert outputs(sink) == len(wanted), f"counted {outputs(sink)} rows of {wanted}"
    as_rows = np.array(wanted, dtype=np.int64).reshape(-1, ROW_WORDS)
    digest = fold_rows(0, as_rows)
    assert int(sink.counters[DIGEST]) == digest, f"the digest is not that of {wanted}"
    _check_log(sink, as_rows)


def _check_log(sink: Sink, rows: np.ndarray) -> None:
    """Check what is logged of each winset: where it begins, its rows, and the digest after it."""
    starts, counts = np.unique(rows[:, 0], return_counts=True)
    digests = [fold_rows(0, rows[:end]) for end in np.cumsum(counts)]
    log = winset_log(sink)
    logged = [each.tolist() for each in (log.window_start, log.rows, log.digest)]
    wanted = [starts.tolist(), counts.tolist(), digests]
    assert logged == wanted, f"logged were {logged}, and should be {wanted}"
