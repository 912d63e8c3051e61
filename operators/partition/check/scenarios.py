"""Small programs for every worklist of a partitioned operator, from its declaration alone.

Producers add tuples, workers process them. A tuple's word says where its data lies, which the
producer writes without any atomic. Processing a tuple writes serial number and data into the log of
the partition, without any atomic either, so that two workers that process one partition at the same
time are a data race. At the end one worker alone goes on until nothing is left, if the others own
nothing. Then for each partition the serial numbers must ascend, and each producer's words must be
in the order added, each once; and what was emptied must take as many tuples again. A worker that
was told to stay is given a tuple when it asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from operators.check.history import HistoryOperation
from operators.check.scenario import ITSELF, NO_END, WAITS, Call, Scenario
from operators.contract import ACCEPTED, NOT_READY, READY, Variant
from operators.core.layout import LINE_WORDS, aligned_words
from operators.partition.check import dimensions
from operators.partition.check.dimensions import (
    LEAVE,
    NEXT,
    PROCESSED,
    SCHEDULES,
    VISIT,
    WAITING,
    adds,
    alone,
    works,
)

PARTITIONS = 2
WORKERS = 2
# Words of a partition: number of processed tuples, then serial number and word of each.
LOG = 32
# More than the largest word of a tuple; and the word of a tuple that is added at rest.
DATA, LATE = 32, 30
ALONE = {
    # Their answers are judged at the end; and a partition that is given up wrongly is a data race.
    PROCESSED: ITSELF,
    LEAVE: ITSELF,
    WAITING: ITSELF,
}


class _Bench(NamedTuple):
    """A worklist and a log of the processed tuples."""

    worklist: Any
    # LOG words a partition; plain, written by the worker that processes the partition
    log: np.ndarray
    data: np.ndarray  # DATA; plain, written by the producer of a tuple: by word
    given: np.ndarray  # a line a worker; plain: 1 while the worker has a tuple, its own word


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of a worklist, including those with two producers if it allows them."""

    def worklist(name: str, *programs: tuple[Call, ...], **more: Any) -> Scenario:
        return _scenario(variant, name, programs, **more)

    one, other = works(0, 2), works(1, 2)
    found = [
        worklist("one-partition", one, other, before=adds((0, 10), (0, 11), (0, 12))),
        worklist("two-partitions", one, other, before=adds((0, 10), (1, 20), (0, 11))),
        worklist("longer-queue", works(0, 3), other, before=adds((0, 10), (0, 11), (0, 12),
                                                                (0, 13))),
        worklist("producer-and-worker", adds((0, 10), (1, 20), (0, 11)), works(0, 3)),
        worklist("producer-and-two", adds((0, 10), (0, 11)), works(0, 1), works(1, 1)),
        worklist("handed-on", (*adds((0, 11)), *works(0, 1)), other, before=adds((0, 10))),
        worklist("full", adds((0, 10), (0, 11), (0, 12)), works(0, 3), capacity=2, retry=WAITS),
        worklist("full-of-two", adds((0, 10), (1, 20), (0, 11)), works(0, 3), capacity=2),
        # Who leaves after each tuple gets all in the order of arrival, from one partition after the
        # other.
        worklist("leaves-after-each", (Call(VISIT, (0,)),) * 4,
                 before=adds((0, 10), (1, 20), (0, 11), (1, 21))),
        # Each operation by a thread that has no other way to learn what was done before.
        worklist("asks-once", adds((0, 10)), alone(NEXT, 0)),
        worklist("asks-beside-another", works(0, 1), alone(NEXT, 1), before=adds((0, 10), (0, 11))),
        worklist("has-processed", alone(PROCESSED, 0), works(1, 2),
                 before=(*adds((0, 10), (0, 11)), *alone(NEXT, 0))),
        worklist("leaves", alone(LEAVE, 0), works(1, 2),
                 before=(*adds((0, 10), (0, 11)), *works(0, 1))),
        worklist("asks-how-many", adds((0, 10), (1, 20)), works(0, 1), alone(WAITING, 1, 2)),
        worklist("three-of-one", adds((0, 10), (0, 11), (0, 12)), works(0, 2), works(1, 2),
                 deep=True),
        worklist("three-of-two", adds((0, 10), (1, 20), (0, 11), (1, 21)), works(0, 2),
                 works(1, 2), capacity=2, deep=True),
        *(
            worklist(each.name, *each.threads, before=each.before, capacity=each.capacity,
                     partitions=each.partitions, workers=each.workers,
                     retry=WAITS if each.again else frozenset(), schedules=SCHEDULES,
                     # With three threads the graph takes longer than all schedules.
                     graph=len(each.threads) < 3)
            for each in dimensions.derived_programs(variant)
        ),
    ]  # fmt: skip
    if variant.threads["producer"] != "one":
        found += two_producers(variant)
    return found


def uncovered(variant: Variant) -> list[str]:
    """Return what no derived program of a worklist has, with the reasons."""
    return dimensions.uncovered(variant)


def two_producers(variant: Variant) -> list[Scenario]:
    """Return the scenarios with two producers, which break figure 7 as printed."""
    return [
        _scenario(variant, "two-producers", (adds((0, 10)), adds((0, 20)), works(0, 2))),
        _scenario(variant, "two-producers-and-two", (adds((0, 10), (1, 11)), adds((0, 20)),
                                                     works(0, 1), works(1, 1)), deep=True),
    ]  # fmt: skip


def _accepted(history: Sequence[HistoryOperation]) -> list[tuple[int, ...]]:
    """Return thread and arguments of the inputs that were taken, by the begin of their calls."""
    return [
        (o.thread, *o.arguments)
        for o in sorted(history, key=lambda o: o.began)
        if o.name == "add_input" and o.answer == ACCEPTED
    ]


def _scenario(
    variant: Variant,
    name: str,
    programs: Sequence[tuple[Call, ...]],
    before: tuple[Call, ...] = (),
    capacity: int = 4,
    partitions: int = PARTITIONS,
    workers: int = WORKERS,
    **more: Any,
) -> Scenario:
    operations = variant.operations
    perform = _performing(operations)

    def make() -> _Bench:
        worklist = operations.make_state(partitions, workers, capacity)
        log, given = aligned_words(partitions * LOG), aligned_words(workers * LINE_WORDS)
        bench = _Bench(worklist, log, aligned_words(DATA), given)
        for call in before:
            assert perform(bench, call) not in WAITS, call
        return bench

    def finish(bench: _Bench, history: Sequence[HistoryOperation]) -> None:
        for worker in range(workers):
            if bench.given[worker * LINE_WORDS]:
                perform(bench, Call(PROCESSED, (worker,)))
        _check_stays(bench, perform, history)
        _drain(operations, bench, perform, workers)
        accepted = _accepted(history)
        first = [(-1, *call.arguments) for call in before if call.name == "add_input"]
        compare(bench.log, [*first, *accepted])
        _judge_answers(history, len(first) + len(accepted))
        _fill_again(bench, perform, capacity)

    return Scenario(
        name=name,
        make=make,
        programs=tuple(programs),
        perform=perform,
        finish=finish,
        invariants=lambda bench: operations.check_invariants(bench.worklist),
        declines=WAITS,
        **more,
    )


def _performing(operations: Any) -> Callable[[_Bench, Call], int | tuple[int, int]]:
    """Return ``perform`` of a worklist with these operations."""

    def take(bench: _Bench, worker: int) -> int:
        # A serial number, or NOT_READY.
        out = [0, 0, 0]
        if operations.next_input(bench.worklist, worker, out) != READY:
            return NOT_READY
        bench.given[worker * LINE_WORDS] = 1
        own = out[0] * LOG
        count = bench.log[own]
        bench.log[own + 1 + 2 * count] = out[1]
        bench.log[own + 2 + 2 * count] = bench.data[out[2]]
        bench.log[own] = count + 1
        return out[1]

    def end(bench: _Bench, worker: int) -> int:
        bench.given[worker * LINE_WORDS] = 0
        operations.processed(bench.worklist, worker)
        return ACCEPTED

    def perform(bench: _Bench, call: Call) -> int | tuple[int, int]:
        if call.name == "add_input":
            _, word = call.arguments
            bench.data[word] = word
            return operations.add_input(bench.worklist, *call.arguments)
        (worker,) = call.arguments
        if call.name == PROCESSED:
            return end(bench, worker)
        if call.name == LEAVE:
            return int(operations.leave(bench.worklist, worker))
        if call.name == WAITING:
            # The first word of an answer is a status: without it, none would be NOT_READY.
            return READY, operations.waiting(bench.worklist)
        serial = take(bench, worker)
        if serial == NOT_READY:
            return NOT_READY
        if call.name in ("process", VISIT):
            end(bench, worker)
        if call.name == VISIT:
            operations.leave(bench.worklist, worker)
            return READY, serial
        return READY

    return perform


def _check_stays(bench: _Bench, perform: Any, history: Sequence[HistoryOperation]) -> None:
    """Check that who was told to stay finds something."""
    for worker in (each.arguments[0] for each in history if each.name == LEAVE and not each.answer):
        told = perform(bench, Call("process", (worker,)))
        assert told == READY, f"worker {worker} was told to stay, and finds nothing"


def _drain(operations: Any, bench: _Bench, perform: Any, workers: int) -> None:
    """Let workers go on until nothing is left, and leave: one alone, if the others own nothing."""
    stay = [w for w in range(workers) if not operations.leave(bench.worklist, w)] or [workers - 1]
    for _ in range(NO_END):
        if all(perform(bench, Call("process", (w,))) == NOT_READY for w in stay):
            break
    else:
        raise AssertionError(f"after {NO_END} rounds there is no end of what comes out")
    left = operations.waiting(bench.worklist)
    assert left == 0, f"workers {stay} find nothing, and {left} tuples wait"
    for worker in range(workers):
        assert operations.leave(bench.worklist, worker), f"worker {worker} cannot leave"


def _fill_again(bench: _Bench, perform: Any, capacity: int) -> None:
    """Check that an empty worklist takes as many tuples as it may hold, and gives them out."""
    bench.log[0] = 0
    for place in range(capacity):
        status = perform(bench, Call("add_input", (0, LATE)))
        assert status == ACCEPTED, f"FULL with {place} of {capacity} tuples, at rest"
    for place in range(capacity):
        status = perform(bench, Call("process", (0,)))
        assert status == READY, f"{capacity} tuples were added at rest, and {place} came out"


def _judge_answers(history: Sequence[HistoryOperation], added: int) -> None:
    """Check the answers of who asks how many tuples wait, and of who leaves after each."""
    for operation in history:
        if operation.name == WAITING:
            count = operation.answer[1]
            assert 0 <= count <= added, f"{count} of {added} tuples wait"
    visits = [operation.answer for operation in history if operation.name == VISIT]
    assert NOT_READY not in visits, "a worker found nothing where tuples wait"
    assert visits == sorted(visits), f"a worker that leaves after each tuple was given {visits}"


def compare(log: np.ndarray, added: Sequence[tuple[int, int, int]]) -> None:
    """Compare the processed tuples with the added ones.

    Parameters
    ----------
    log : int64 array
        The log of the bench.
    added : sequence of (producer, partition, word)
        In the order of each producer.

    Raises
    ------
    AssertionError
    """
    every: list[int] = []
    for partition in range(len(log) // LOG):
        own = log[partition * LOG : (partition + 1) * LOG].tolist()
        count = own[0]
        serials, words = own[1 : 1 + 2 * count : 2], own[2 : 2 + 2 * count : 2]
        assert serials == sorted(set(serials)), f"partition {partition}: processed were {serials}"
        wanted = [word for _, p, word in added if p == partition]
        assert sorted(words) == sorted(wanted), (
            f"partition {partition}: {wanted} were added, and {words} processed"
        )
        for producer in {who for who, _, _ in added}:
            theirs = [word for who, p, word in added if (who, p) == (producer, partition)]
            assert [word for word in words if word in theirs] == theirs, (
                f"partition {partition}: {theirs} were added in this order, and {words} processed"
            )
        every += serials
    assert sorted(every) == list(range(1, len(added) + 1)), f"serial numbers were {sorted(every)}"
