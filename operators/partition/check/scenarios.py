"""Small programs for every worklist of a partitioned operator, from its declaration alone.

Producers add tuples, workers process them. Processing is writing serial number and word into words
of the tuple's partition, without any atomic: so that two workers who process one partition at the
same time are a data race. At the end every worker goes on until there is nothing left, and of each
partition the serial numbers must have come in order, and each producer's words in its order, once
each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from operators.check.history import HistoryOperation
from operators.check.scenario import NO_END, WAITS, Call, Scenario
from operators.contract import ACCEPTED, NOT_READY, READY, Variant
from operators.core.layout import aligned_words

PARTITIONS = 2
WORKERS = 2
# Of a partition: how many were processed, and serial number and word of each.
LOG = 32


class _Bench(NamedTuple):
    """A worklist and what was processed."""

    worklist: Any
    log: np.ndarray  # PARTITIONS * LOG; plain, by whoever processes the partition


def adds(*tuples: tuple[int, int]) -> tuple[Call, ...]:
    """Return the program of a producer: partition and word of each tuple."""
    return tuple(Call("add_input", each) for each in tuples)


def works(worker: int, count: int) -> tuple[Call, ...]:
    """Return the program of a worker that asks for a tuple so many times."""
    return (Call("process", (worker,)),) * count


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of a worklist; those with two producers where it takes them."""

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
        worklist("three-of-one", adds((0, 10), (0, 11), (0, 12)), works(0, 2), works(1, 2),
                 deep=True),
        worklist("three-of-two", adds((0, 10), (1, 20), (0, 11), (1, 21)), works(0, 2),
                 works(1, 2), capacity=2, deep=True),
    ]  # fmt: skip
    if variant.threads["producer"] != "one":
        found += two_producers(variant)
    return found


def two_producers(variant: Variant) -> list[Scenario]:
    """Return the scenarios with two producers, which figure 7 as printed does not survive."""
    return [
        _scenario(variant, "two-producers", (adds((0, 10)), adds((0, 20)), works(0, 2))),
        _scenario(variant, "two-producers-and-two", (adds((0, 10), (1, 11)), adds((0, 20)),
                                                     works(0, 1), works(1, 1)), deep=True),
    ]  # fmt: skip


def _scenario(
    variant: Variant,
    name: str,
    programs: Sequence[tuple[Call, ...]],
    before: tuple[Call, ...] = (),
    capacity: int = 4,
    **more: Any,
) -> Scenario:
    operations = variant.operations

    def make() -> _Bench:
        worklist = operations.make_state(PARTITIONS, WORKERS, capacity)
        bench = _Bench(worklist, aligned_words(PARTITIONS * LOG))
        for call in before:
            assert perform(bench, call) == ACCEPTED
        return bench

    def perform(bench: _Bench, call: Call) -> int:
        if call.name == "add_input":
            return operations.add_input(bench.worklist, *call.arguments)
        (worker,) = call.arguments
        out = [0, 0, 0]
        if operations.next_input(bench.worklist, worker, out) != READY:
            return NOT_READY
        own = out[0] * LOG
        count = bench.log[own]
        bench.log[own + 1 + 2 * count] = out[1]
        bench.log[own + 2 + 2 * count] = out[2]
        bench.log[own] = count + 1
        operations.processed(bench.worklist, worker)
        return READY

    def finish(bench: _Bench, history: Sequence[HistoryOperation]) -> None:
        _drain(operations, bench, perform)
        accepted = [
            (o.thread, *o.arguments)
            for o in sorted(history, key=lambda o: o.began)
            if o.name == "add_input" and o.answer == ACCEPTED
        ]
        compare(bench.log, [*((-1, *call.arguments) for call in before), *accepted])

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


def _drain(operations: Any, bench: _Bench, perform: Any) -> None:
    """Let every worker go on until there is nothing left, and leave."""
    for _ in range(NO_END):
        if all(perform(bench, Call("process", (w,))) == NOT_READY for w in range(WORKERS)):
            break
    else:
        raise AssertionError(f"after {NO_END} rounds there is no end of what comes out")
    for worker in range(WORKERS):
        assert operations.leave(bench.worklist, worker), f"worker {worker} cannot leave"


def compare(log: np.ndarray, added: Sequence[tuple[int, int, int]]) -> None:
    """Compare what was processed with what was added.

    Parameters
    ----------
    log : int64 array
        As the bench keeps it.
    added : sequence of (producer, partition, word)
        In the order of each producer.

    Raises
    ------
    AssertionError
    """
    every: list[int] = []
    for partition in range(PARTITIONS):
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
